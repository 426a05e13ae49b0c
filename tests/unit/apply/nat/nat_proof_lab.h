/* SPDX-License-Identifier: Apache-2.0 */
/* A Service, a twin that answers from its row, and its proof. */
#pragma once

#include "fake_twin.h"
#include "faults/fault_type.h"
#include "plan/link_table.h"

/* ---- a Service ---- */

static inline void add_endpoint(nat_endpoint_list *set, const char *address)
{
    assert_int_equal(vec_push(set, (struct nat_endpoint){ ip(address), 8080 }), 0);
}

static inline void add_frontend(struct nat_row *row, const char *address, uint16_t port,
                                enum nat_frontend_kind kind, enum nat_set_kind outside)
{
    struct nat_frontend frontend = {
        .address = ip(address),
        .protocol = PROTOCOL_TCP,
        .port = port,
        .kind = kind,
    };
    frontend.from[NAT_ORIGIN_OUTSIDE] =
        (struct nat_outcome){ .act = NAT_ACT_FORWARD, .set = outside };
    frontend.from[NAT_ORIGIN_POD] = (struct nat_outcome){ .act = NAT_ACT_FORWARD };
    frontend.from[NAT_ORIGIN_NODE] =
        (struct nat_outcome){ .act = NAT_ACT_FORWARD, .masquerade = true };
    assert_int_equal(vec_push(&row->families[0].frontends, frontend), 0);
}

/* Three endpoints, one of them here; policy Local for the outside. */
static inline struct nat_row *row_new(void)
{
    struct nat_row *row = calloc(1, sizeof(*row));
    struct nat_port port = { .name = strdup("http"), .protocol = PROTOCOL_TCP, .port = 80 };

    row->namespace = strdup("default");
    row->name = strdup("web");
    row->family_count = 1;
    row->families[0].family = IP_V4;
    add_endpoint(&port.sets[NAT_SET_CLUSTER], "10.244.0.5");
    add_endpoint(&port.sets[NAT_SET_CLUSTER], "10.244.1.5");
    add_endpoint(&port.sets[NAT_SET_CLUSTER], "10.244.1.6");
    add_endpoint(&port.sets[NAT_SET_LOCAL], "10.244.0.5");
    assert_int_equal(vec_push(&row->families[0].ports, port), 0);
    add_frontend(row, "10.0.0.1", 80, NAT_FRONTEND_LOAD_BALANCER, NAT_SET_LOCAL);
    add_frontend(row, "10.96.0.10", 80, NAT_FRONTEND_CLUSTER_IP, NAT_SET_CLUSTER);
    add_frontend(row, "192.0.2.1", 30080, NAT_FRONTEND_NODE_PORT, NAT_SET_LOCAL);
    return row;
}

static inline void row_free(struct nat_row *row)
{
    struct nat_port *port = &row->families[0].ports.items[0];
    free(port->name);
    vec_done(&port->sets[NAT_SET_CLUSTER]);
    vec_done(&port->sets[NAT_SET_LOCAL]);
    vec_done(&row->families[0].ports);
    vec_done(&row->families[0].frontends);
    vec_done(&row->families[0].source_ranges);
    free(row->namespace);
    free(row->name);
    free(row);
}

/* In place of apply/nat/proof/children.c. */
static struct {
    enum nat_children of_uplink;
    unsigned asked;
} children;

enum nat_children nat_children_of(uint32_t ifindex)
{
    assert_int_equal(ifindex, UPLINK);
    children.asked++;
    return children.of_uplink;
}

struct lab {
    struct nat_row *row;
    struct nat_datapath datapath;
    struct probe_origins origins;
    nat_proof_list proofs;
    struct faults faults;
};

static const struct nat_attachment attached[] = {
    { .ifindex = 1, .hook = NAT_HOOK_LO_OUT },
    { .ifindex = UPLINK, .hook = NAT_HOOK_UPLINK_IN, .parent = true },
    { .ifindex = UPLINK, .hook = NAT_HOOK_UPLINK_OUT, .parent = true },
    { .ifindex = 12, .hook = NAT_HOOK_POD_IN },
    { .ifindex = 12, .hook = NAT_HOOK_POD_OUT },
    { .ifindex = ADDRESS, .hook = NAT_HOOK_SVC_OUT },
};

static inline int setup(void **state)
{
    static const enum nat_hook hooks[] = { NAT_HOOK_UPLINK_IN, NAT_HOOK_POD_IN, NAT_HOOK_SVC_OUT };
    static const char *const sources[] = { "198.51.100.9", "10.244.0.200", "192.0.2.1" };
    struct lab *lab = calloc(1, sizeof(*lab));

    memset(&children, 0, sizeof(children));
    lab->row = row_new();
    lab->datapath.row = lab->row;
    lab->datapath.error.origin = NAT_ORIGINS;
    lab->datapath.pod_nets[0] = prefix("10.244.0.0/16");
    lab->datapath.pod_nets[1] = prefix("fd44::/16");
    lab->origins.pod_nets = lab->datapath.pod_nets;
    lab->origins.pod_net_count = 2;
    lab->origins.attachments = attached;
    lab->origins.attachment_count = ARRAY_SIZE(attached);
    for (enum nat_origin i = 0; i < NAT_ORIGINS; i++) {
        lab->origins.of[i].there = true;
        lab->origins.of[i].hook = hooks[i];
        lab->origins.of[i].ifindex = 10 + hooks[i];
        lab->origins.of[i].ingress_ifindex = i == NAT_ORIGIN_NODE ? 0 : 10 + hooks[i];
        lab->origins.of[i].v4 = ip(sources[i]);
    }
    *state = lab;
    return 0;
}

static inline int teardown(void **state)
{
    struct lab *lab = *state;
    row_free(lab->row);
    vec_done(&lab->proofs);
    faults_done(&lab->faults);
    free(lab);
    return 0;
}

static inline int prove(struct lab *lab)
{
    vec_clear(&lab->proofs);
    faults_done(&lab->faults);
    lab->faults = (struct faults){ 0 };
    lab->datapath.runs = 0;
    bool lost = false, told = false;
    int r = nat_prove(&lab->datapath, &lab->origins, lab->row, &lab->proofs, &lab->faults, &lost);
    vec_each(const struct fault, fault, &lab->faults.list)
        told |= strstr(fault->message, "no way to ") != NULL;
    assert_true(r < 0 || lost == told);
    return r;
}

static inline void expect_proof(struct lab *lab, size_t index, const char *address, const char *why)
{
    const struct ip expected = ip(address);

    assert_true(index < lab->proofs.count);
    const struct nat_proof *proof = &lab->proofs.items[index];
    assert_true(ip_equal(&proof->address, &expected));
    assert_string_equal(proof->why, why);
    assert_int_equal(proof->served, !*why);
    assert_int_equal(proof->as_planned, !*why || strncmp(why, "nothing", 7) == 0);
}

static inline void assert_told(const struct lab *lab, const char *message)
{
    const bool lost = strncmp(message, "no way to ", strlen("no way to ")) == 0;
    const char *code = lost ? "nat-endpoint-unreachable" : "nat-proof-failed";
    bool told = false;
    vec_each(struct fault, fault, &lab->faults.list)
        told |= strcmp(fault->message, message) == 0 && strcmp(fault->type->code, code) == 0;
    if (!told)
        fail_msg("no fault: %s", message);
}

static inline void expect_fault(struct lab *lab, size_t index, const char *message)
{
    assert_true(index < lab->faults.list.count);
    assert_string_equal(lab->faults.list.items[index].place, "Service default/web");
    assert_string_equal(lab->faults.list.items[index].message, message);
}
