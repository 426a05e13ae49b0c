// SPDX-License-Identifier: Apache-2.0
/*
 * Engines whose datapath, probes, table or address can't be had, or whose maps have no room: what
 * they say of it. What the kernel says, the wraps here say in its place.
 */
#include <errno.h>
#include <stdlib.h>

#include "../plan/planning.h"
#include "apply/egress/datapath.h"
#include "apply/egress/gateway/gateway.h"
#include "apply/firewall/firewall.h"
#include "apply/nat/flows/room.h"
#include "cmocka_all.h"
#include "engine/egress/egress_engine.h"
#include "engine/egress/egress_gateway.h"
#include "engine/egress/egress_hooks.h"
#include "engine/egress/egress_prober.h"
#include "engine/firewall/firewall_engine.h"
#include "engine/nat/nat_engine.h"
#include "engine/nat/nat_state.h"
#include "raised.h"

/* What each of them returns. */
static int nat_error, egress_error, prober_error, firewall_error;
static nat_refusal_list refusals;
static enum nat_room room;
static struct sorted no_paths;

int __wrap_nat_datapath_open(const struct nat_datapath_options *options,
                             struct nat_datapath **ret_datapath, struct faults *faults);
int __wrap_nat_datapath_open(const struct nat_datapath_options *options,
                             struct nat_datapath **ret_datapath, struct faults *faults)
{
    (void)options, (void)ret_datapath, (void)faults;
    return nat_error;
}

static char plane; /* stands for a datapath of egress */

int __wrap_egress_datapath_open(const char *pins, struct egress_datapath **ret_datapath,
                                struct faults *faults);
int __wrap_egress_datapath_open(const char *pins, struct egress_datapath **ret_datapath,
                                struct faults *faults)
{
    (void)pins, (void)faults;
    if (egress_error == 0)
        *ret_datapath = (struct egress_datapath *)&plane;
    return egress_error;
}

void __wrap_egress_datapath_set_homes(struct egress_datapath *datapath, const struct sorted *homes);
void __wrap_egress_datapath_set_homes(struct egress_datapath *datapath, const struct sorted *homes)
{
    (void)datapath, (void)homes;
}

void __wrap_egress_datapath_close(struct egress_datapath *datapath);
void __wrap_egress_datapath_close(struct egress_datapath *datapath)
{
    (void)datapath;
}

int __wrap_egress_hooks_open(struct egress_engine *egress);
int __wrap_egress_hooks_open(struct egress_engine *egress)
{
    (void)egress;
    return 0;
}

int __wrap_egress_prober_new(const struct engine_setup *setup, struct egress_prober **ret_prober);
int __wrap_egress_prober_new(const struct engine_setup *setup, struct egress_prober **ret_prober)
{
    (void)setup, (void)ret_prober;
    return prober_error;
}

int __wrap_firewall_open(struct firewall **ret_firewall);
int __wrap_firewall_open(struct firewall **ret_firewall)
{
    (void)ret_firewall;
    return firewall_error;
}

int __wrap_kernel_default_sources(struct kernel *kernel, struct default_sources *ret_sources);
int __wrap_kernel_default_sources(struct kernel *kernel, struct default_sources *ret_sources)
{
    (void)kernel, (void)ret_sources;
    return 0;
}

const struct sorted *__wrap_kernel_links(const struct kernel *kernel);
const struct sorted *__wrap_kernel_links(const struct kernel *kernel)
{
    (void)kernel;
    return &no_paths;
}

const struct sorted *__wrap_kernel_paths(const struct kernel *kernel);
const struct sorted *__wrap_kernel_paths(const struct kernel *kernel)
{
    (void)kernel;
    return &no_paths;
}

const struct sorted *__wrap_kernel_link_addresses(const struct kernel *kernel);
const struct sorted *__wrap_kernel_link_addresses(const struct kernel *kernel)
{
    (void)kernel;
    return &no_paths;
}

int __wrap_egress_gate_set(struct egress_gate *gate, const struct egress_gate_settings *settings,
                           struct faults *faults);
int __wrap_egress_gate_set(struct egress_gate *gate, const struct egress_gate_settings *settings,
                           struct faults *faults)
{
    (void)gate, (void)settings, (void)faults;
    return 0;
}

int __wrap_nat_datapath_refusals(struct nat_datapath *datapath, nat_refusal_list *ret_list);
int __wrap_nat_datapath_refusals(struct nat_datapath *datapath, nat_refusal_list *ret_list)
{
    (void)datapath;
    vec_each(const struct nat_refusal, refusal, &refusals)
        assert_int_equal(vec_push(ret_list, *refusal), 0);
    return 0;
}

enum nat_room __wrap_nat_datapath_find_port(const struct nat_datapath *datapath,
                                            const struct packet_seen *refused, uint32_t *at);
enum nat_room __wrap_nat_datapath_find_port(const struct nat_datapath *datapath,
                                            const struct packet_seen *refused, uint32_t *at)
{
    (void)datapath, (void)refused, (void)at;
    return room;
}

bool __wrap_nat_datapath_flows_fit(const struct nat_datapath *datapath);
bool __wrap_nat_datapath_flows_fit(const struct nat_datapath *datapath)
{
    (void)datapath;
    return true;
}

struct fixture {
    struct planning planning;
    struct status status;
    struct board board;
    struct engine_setup setup;
};

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    planning_begin(&fx->planning);
    fx->status.faults = fault_book_new();
    assert_non_null(fx->status.faults);
    fx->setup = (struct engine_setup){
        .config = fx->planning.config,
        .store = fx->planning.store,
        .status = &fx->status,
        .board = &fx->board,
    };
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;
    fault_book_free(fx->status.faults);
    planning_done(&fx->planning);
    free(fx);
    return 0;
}

/* The book has this fault and no other; "": none. */
static void assert_known(const struct fixture *fx, const char *code, const char *place,
                         const char *words)
{
    const struct fault_book *faults = fx->status.faults;
    if (!*code) {
        assert_int_equal(fault_book_count(faults), 0);
        return;
    }
    assert_int_equal(fault_book_count(faults), 1);
    const struct known_fault *fault = fault_book_at(faults, 0);
    assert_string_equal(known_fault_code(fault), code);
    assert_string_equal(fault->place, place);
    if (!strstr(fault->message, words) && !strstr(fault->remedy, words))
        fail_msg("%s: %s: %s", code, fault->message, fault->remedy);
}

static void service_nat_that_cannot_be_had(void **state)
{
    struct fixture *fx = *state;
    struct engine *engine = NULL;
    fx->planning.config->services.enabled = true;
    nat_error = -EMFILE;
    assert_int_equal(nat_engine_ops.open(&fx->setup, &engine), 0);
    assert_known(fx, "nat-unavailable", "services.enabled", "Too many open files");
    nat_engine_ops.close(engine);
}

static void egress_that_cannot_be_had(void **state)
{
    struct fixture *fx = *state;
    struct engine *engine = NULL;
    fx->planning.config->egress.enabled = true;
    egress_error = -EMFILE;
    assert_int_equal(egress_engine_ops.open(&fx->setup, &engine), 0);
    assert_known(fx, "egress-unavailable", "egress", "Too many open files");
    egress_engine_ops.close(engine);
}

static void gateways_that_cannot_be_probed(void **state)
{
    struct fixture *fx = *state;
    struct engine *engine = NULL;
    fx->planning.config->egress.enabled = true;
    egress_error = 0;
    prober_error = -EMFILE;
    assert_int_equal(egress_engine_ops.open(&fx->setup, &engine), 0);
    assert_known(fx, "egress-probes-unavailable", "egress", "Too many open files");
    egress_engine_ops.close(engine);
}

static void a_gateway_without_an_address(void **state)
{
    struct fixture *fx = *state;
    struct egress_gateway_side side = { 0 };
    AUTOFAULTS struct faults lacking = { 0 }, good = { 0 };
    const struct node_facts *facts = &fx->planning.facts;
    assert_int_equal(egress_gateway_follow(&side, facts, NULL, &lacking), 0);
    assert_raised(&lacking, "egress-gateway-no-address at egress.gateway\n");
    put(&fx->planning, "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus:\n"
                       "  addresses: [{type: InternalIP, address: 192.0.2.1}]\n");
    assert_int_equal(egress_gateway_follow(&side, facts, NULL, &good), 0);
    assert_null(find_raised(&good, "egress-gateway-no-address"));
}

static void a_table_that_cannot_be_written(void **state)
{
    struct fixture *fx = *state;
    static const struct {
        int error;
        const char *words;
    } cases[] = { { -EPERM, "CAP_NET_ADMIN" }, { -EOPNOTSUPP, "modprobe nf_tables" } };
    fx->planning.config->services.firewall.mode = FIREWALL_MARK;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct engine *engine = NULL;
        CLEANUP(round_done) struct round round = { .now_ms = 1000, .all = true };
        firewall_error = cases[i].error;
        assert_int_equal(firewall_engine_ops.open(&fx->setup, &engine), 0);
        assert_int_equal(firewall_engine_ops.write(engine, &round), 0);
        firewall_engine_ops.publish(engine, &round);
        assert_known(fx, "firewall-unwritable", "nftables, table inet fingerpost", cases[i].words);
        firewall_engine_ops.close(engine);
    }
}

/* As long as connections are refused, and behind that until a port is free again. */
static void source_ports_that_are_all_taken(void **state)
{
    struct fixture *fx = *state;
    struct nat_engine nat = { .status = &fx->status };
    struct nat_pressure *pressure = &fx->status.nat.pressure;
    struct nat_refusal refusal = { .cause = NAT_CAUSE_SNAT_EXHAUSTED };
    int64_t now_ms = 1000;
    assert_int_equal(ip_parse("10.0.0.1", &refusal.last.destination), 0);
    refusal.last.destination_port = 8080;
    pressure->ports_refused = 7; /* by an earlier agent */
    nat_pressure_report(&nat, now_ms);
    assert_known(fx, "", "", "");

    assert_int_equal(vec_push(&refusals, refusal), 0);
    room = NAT_ROOM_NONE;
    pressure->ports_refused++;
    nat_pressure_report(&nat, now_ms += 1000);
    assert_known(fx, "nat-source-ports-exhausted", "services.snatPorts", "10.0.0.1 port 8080");
    nat_pressure_report(&nat, now_ms += 60000);
    assert_known(fx, "nat-source-ports-exhausted", "services.snatPorts", "10.0.0.1 port 8080");
    room = NAT_ROOM_SOME;
    nat_pressure_report(&nat, now_ms += 60000);
    assert_known(fx, "", "", "");
    vec_done(&refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(service_nat_that_cannot_be_had), TEST(egress_that_cannot_be_had),
        TEST(gateways_that_cannot_be_probed), TEST(a_gateway_without_an_address),
        TEST(a_table_that_cannot_be_written), TEST(source_ports_that_are_all_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
