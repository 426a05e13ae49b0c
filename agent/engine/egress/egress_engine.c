// SPDX-License-Identifier: Apache-2.0
/*
 * The egress engine; see egress_engine.h. It has two sides: the clients' side, on the nodes of
 * pods, and the gateway's side (egress_gateway.h).
 *
 * In `plan` it plans the rows of pods that changed, or everything if other objects changed. In
 * `write` it writes the difference to the maps and then attaches the programs. They are attached to
 * the host ends of pods, behind those of NAT: egress does not handle packets to a Service. While
 * there is no gateway, and unknown pods may pass, no program is attached, and no packet has any
 * overhead.
 *
 * Nothing is removed from the maps before the source has synced. When the agent ends, maps and
 * programs stay.
 */
#include "engine/egress/egress_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/egress/datapath.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "engine/egress/egress_hooks.h"
#include "engine/egress/egress_settings.h"
#include "engine/egress/egress_upkeep.h"
#include "engine/facts.h"
#include "faults/egress.h"
#include "faults/raise.h"
#include "plan/egress/egress_rows.h"

enum { ROWS_MAX = 256 }; /* with more, the whole plan costs less */

static struct egress_engine *of_engine(struct engine *engine)
{
    return (struct egress_engine *)engine;
}

static const struct egress_engine *read_engine(const struct engine *engine)
{
    return (const struct egress_engine *)engine;
}

/* ---- opening ---- */

/* Removes what an earlier agent left of a side that is off now. */
static void take_down(const struct egress_engine *egress)
{
    const struct config *config = egress->config;
    bool clients = config->egress.enabled, gateway = config->egress.gateway.enabled;
    int hooks = clients || gateway ? 0 : nat_hooks_remove(config->paths.bpf, NAT_LAYER_EGRESS);
    int maps = clients ? 0 : egress_datapath_unpin(config->paths.bpf);
    int flows = gateway ? 0 : egress_gateway_take_down(config);
    if (hooks > 0 || maps > 0 || flows > 0)
        log_notice("egress of an earlier agent is taken down, as the configuration has it no more");
}

static int open_sides(struct egress_engine *egress, struct faults *faults)
{
    const struct config *config = egress->config;
    int r = config->egress.enabled
                ? egress_datapath_open(config->paths.bpf, &egress->datapath, faults)
                : 0;
    if (egress->datapath)
        egress_datapath_set_homes(egress->datapath, &egress->homes.homes);
    if (r == 0 && config->egress.gateway.enabled)
        r = egress_gateway_open(&egress->gateway, config, egress->board->nat_datapath, faults);
    if (r == 0 && (egress->datapath || egress->gateway.gate))
        r = egress_hooks_open(egress);
    if (r < 0) {
        egress_gateway_close(&egress->gateway);
        egress_datapath_close(TAKE_PTR(egress->datapath));
    }
    return r;
}

static int scope_of_egress(const struct config *config, struct kernel_scope *scope)
{
    scope->paths |= config->egress.enabled || config->egress.gateway.enabled;
    return 0;
}

static struct egress_ground ground_now(void *context)
{
    const struct egress_engine *egress = context;
    return (struct egress_ground){
        .config = egress->config,
        .kernel = egress->kernel,
        .gate = egress->hooks ? egress->gateway.gate : NULL,
        .settings = &egress->gateway.settings,
        .attached = &egress->attached,
        .hooked = egress->hooked,
    };
}

static void close_egress(struct engine *engine)
{
    struct egress_engine *egress = of_engine(engine);
    egress->board->gateway_proofs = NULL;
    egress_upkeep_done(egress);
    egress_proving_done(&egress->proving);
    nat_hooks_close(egress->hooks);
    egress_prober_free(egress->prober);
    egress_gateway_close(&egress->gateway);
    egress_datapath_close(egress->datapath);
    egress_plan_done(&egress->plan);
    egress_reach_done(&egress->reach);
    egress_homes_done(&egress->homes);
    egress_touched_done(&egress->touched);
    vec_done(&egress->attached);
    free(egress);
}

/*
 * Where the datapath could not be opened, the engine does nothing and a fault gives the reason;
 * other engines continue.
 */
static int open_egress(const struct engine_setup *setup, struct engine **ret_engine)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct egress_engine *egress = calloc(1, sizeof(*egress));
    if (!egress)
        return -ENOMEM;
    *egress = (struct egress_engine){
        .engine = { &egress_engine_ops },
        .config = setup->config,
        .store = setup->store,
        .kernel = setup->kernel,
        .status = setup->status,
        .board = setup->board,
        .retry = { .initial_ms = 100, .max_ms = 30 * SECOND_MS },
        .retry_ms = INT64_MAX,
        .room_retry = { .initial_ms = SECOND_MS, .max_ms = MINUTE_MS },
        .room_retry_ms = INT64_MAX,
        .dirty = true,
        .moved = true,
        .behind = true,
    };
    egress_plan_init(&egress->plan);
    egress_homes_init(&egress->homes);
    *ret_engine = &egress->engine;
    take_down(egress);
    int r = open_sides(egress, &faults);
    if (r < 0 && faults_none(&faults))
        fault_raise(&faults, "egress", egress_unavailable, .reason = strerror(-r));
    if (egress->datapath) {
        r = egress_prober_new(setup, &egress->prober);
        if (r < 0)
            fault_raise(&faults, "egress", egress_probes_unavailable, .reason = strerror(-r));
    }
    egress_report(egress, "plane", &faults);
    egress->board->gateway_proofs = &egress->proving.proofs;
    r = egress_proving_start(&egress->proving, setup, ground_now, egress);
    return r < 0 ? r : egress_upkeep_start(egress, setup);
}

static void configure(struct engine *engine, const struct config *config)
{
    of_engine(engine)->config = config;
    if (of_engine(engine)->prober)
        egress_prober_configure(of_engine(engine)->prober, config);
    of_engine(engine)->dirty = of_engine(engine)->moved = true;
}

/* ---- the stages ---- */

static bool has_rows(const struct egress_engine *egress)
{
    return egress->touched.addresses.count || egress->touched.named.count;
}

static int note(struct engine *engine, const struct change *change, struct round *round)
{
    struct egress_engine *egress = of_engine(engine);
    const struct node_facts facts = egress_facts(egress);
    struct egress_touched *touched = &egress->touched;
    if (!egress->hooks)
        return 0;
    int r = plan_egress_affected(&facts, change, touched);
    if (r < 0)
        return r;
    egress->dirty |= touched->egresses.count || touched->excluded || touched->served;
    round->expected |= egress->dirty || has_rows(egress);
    egress->behind |= egress->dirty || has_rows(egress);
    return 0;
}

static int hear(struct engine *engine, const struct kernel_events *events, struct round *round)
{
    (void)round;
    struct egress_engine *egress = of_engine(engine);
    bool moved = events->resynced || events->links || events->addresses;
    egress->moved |= moved;
    egress->reach.stale |= moved || events->watched;
    return 0;
}

/* Plans everything again, and marks the gateways without a route and those that do not answer. */
static int plan_anew(struct egress_engine *egress, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOFAULTS struct faults away = { 0 };
    AUTOFAULTS struct faults silent = { 0 };
    CLEANUP(egress_plan_done) struct egress_plan fresh;
    struct node_facts facts = egress_facts(egress);
    facts.gateway_retires =
        egress_gateway_retires(&egress->gateway, egress->config, &egress->plan, now_ms);
    egress_plan_init(&fresh);
    int r = plan_egress(&facts, &fresh, &faults);
    if (r < 0)
        return r;
    r = egress_reach_mark(&egress->reach, egress->kernel, &fresh, &away);
    if (r < 0)
        return r;
    if (egress->prober)
        r = egress_prober_mark(egress->prober, egress->datapath, &fresh, &silent);
    if (r < 0)
        return r;
    egress_plan_done(&egress->plan);
    egress->plan = fresh;
    egress_plan_init(&fresh);
    egress_report(egress, "plan", &faults);
    egress_report(egress, "reach", &away);
    egress_report(egress, "probes", &silent);
    return egress->gateway.gate ? egress_proving_plan(&egress->proving, &facts) : 0;
}

/* Pods were added, deleted or changed: only their rows are planned, where that is enough. */
static int plan_rows(struct egress_engine *egress, int64_t now_ms)
{
    const struct node_facts facts = egress_facts(egress);
    struct egress_touched *touched = &egress->touched;
    ip_list_unite(&touched->addresses);
    vec_sort(&touched->named, egress_ref_cmp);
    vec_drop_equal(&touched->named, egress_ref_cmp);
    int r =
        touched->addresses.count > ROWS_MAX ? 0 : plan_egress_rows(&facts, touched, &egress->plan);
    egress->dirty |= r <= 0;
    return r == 0 ? plan_anew(egress, now_ms) : r;
}

static int plan(struct engine *engine, struct round *round)
{
    struct egress_engine *egress = of_engine(engine);
    egress_gateway_drain(&egress->gateway, egress->config, egress->board->standing, round->now_ms);
    if (!egress->hooks || !status_is_known(egress->status))
        return 0;
    egress->dirty |= round->all || (round->may_remove && !egress->complete) ||
                     round->now_ms >= egress_gateway_retired_ms(&egress->gateway, &egress->plan) ||
                     round->now_ms >= egress->room_retry_ms;
    egress->moved |= round->all || round->now_ms >= egress->retry_ms;
    int r = egress_reach_look(&egress->reach, egress->kernel);
    if (r < 0)
        return r;
    egress->dirty |= r > 0 || (egress->prober && egress_prober_moved(egress->prober));
    if (egress->dirty)
        return plan_anew(egress, round->now_ms);
    r = has_rows(egress) ? plan_rows(egress, round->now_ms) : 0;
    return r < 0 ? r : 0;
}

static bool is_full(int error)
{
    return error == -ENOSPC || error == -E2BIG;
}

static void wait_for_room(struct egress_engine *egress, const struct round *round)
{
    if (egress->room_retry_ms == INT64_MAX)
        egress->room_retry_ms = round->now_ms + backoff_next(&egress->room_retry);
}

/*
 * Evaluates the results of both sides: the number of changes, or -errno. A full map does not fail
 * the pass, because other engines still have to write: it is a fault, and everything is written
 * again later. Returns 0, or the other error.
 */
static int settle(struct egress_engine *egress, struct round *round, int clients, int gateway)
{
    egress->left_out |= gateway < 0;
    if (is_full(clients) || is_full(gateway))
        wait_for_room(egress, round);
    if (clients < 0 && !is_full(clients))
        return clients;
    if (gateway < 0 && !is_full(gateway))
        return gateway;
    round->changes += (uint32_t)(MAX(clients, 0) + MAX(gateway, 0));
    return 0;
}

/* Writes only the touched rows. */
static int write_rows(struct egress_engine *egress, struct round *round)
{
    AUTOFAULTS struct faults faults = { 0 };
    const ip_list *addresses = &egress->touched.addresses;
    const struct sorted *pods = &egress->plan.pods, *known = &egress->plan.clients;
    int clients = egress->datapath ? egress_datapath_write_pods(egress->datapath, pods, addresses,
                                                                round->may_remove, &faults)
                                   : 0;
    int gateway = egress->gateway.gate
                      ? egress_gate_write_some(egress->gateway.gate, known, addresses,
                                               round->may_remove, &faults)
                      : 0;
    if (egress->room_retry_ms == INT64_MAX) /* otherwise what was reported before still holds */
        egress_report(egress, "maps", &faults);
    return settle(egress, round, clients, gateway);
}

static int write_clients_side(struct egress_engine *egress, struct round *round,
                              struct faults *faults)
{
    const struct egress_settings settings = {
        .port = (uint16_t)egress->config->egress.port,
        .hold_unknown = egress->config->egress.unknown_pods == UNKNOWN_PODS_HOLD,
        .pod_tunnels = egress->config->egress.pod_tunnels == POD_TUNNELS_ALLOW,
    };
    const struct egress_wanted wanted = {
        .sets = &egress->plan.sets,
        .policies = &egress->plan.policies,
        .pods = &egress->plan.pods,
        .excluded = egress->plan.excluded.items,
        .excluded_count = egress->plan.excluded.count,
        .known_ms = egress->prober ? egress_prober_known_ms(egress->prober) : INT64_MAX,
        .may_remove = round->may_remove,
    };
    int r = egress_datapath_write(egress->datapath, &wanted, faults);
    if (r >= 0)
        egress_datapath_set(egress->datapath, &settings);
    return r;
}

static int write_gateways_side(struct egress_engine *egress, const struct round *round,
                               struct faults *faults)
{
    const struct egress_gate_wanted wanted = {
        .clients = &egress->plan.clients,
        .policies = &egress->plan.gateway_policies,
        .excluded = egress->plan.gateway_excluded.items,
        .excluded_count = egress->plan.gateway_excluded.count,
        .may_remove = round->may_remove,
    };
    return egress_gate_write(egress->gateway.gate, &wanted, faults);
}

static int write_maps(struct egress_engine *egress, struct round *round)
{
    AUTOFAULTS struct faults faults = { 0 };
    int clients = egress->datapath ? write_clients_side(egress, round, &faults) : 0;
    int gateway = egress->gateway.gate ? write_gateways_side(egress, round, &faults) : 0;
    egress_report(egress, "maps", &faults);
    egress->left_out = false;
    egress->room_retry_ms = INT64_MAX;
    if (faults_none(&faults))
        backoff_reset(&egress->room_retry);
    else
        wait_for_room(egress, round);
    int r = settle(egress, round, clients, gateway);
    egress->complete |= r == 0 && round->may_remove;
    return r;
}

static int follow_node(struct egress_engine *egress, struct round *round)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct node_facts facts = egress_facts(egress);
    int r = egress->gateway.gate
                ? egress_gateway_follow(&egress->gateway, &facts, egress->kernel, &faults)
                : 0;
    egress_report(egress, "gateway", &faults);
    if (r >= 0)
        r = egress_hooks_follow(egress, round);
    if (r >= 0)
        egress_settings_tell(egress);
    return r;
}

static int prove(struct egress_engine *egress, struct round *round)
{
    AUTOFAULTS struct faults faults = { 0 };
    int r = egress_proving_follow(&egress->proving, &round->touched, &faults);
    egress_report(egress, "proof", &faults);
    return r;
}

static int write_egress(struct engine *engine, struct round *round)
{
    struct egress_engine *egress = of_engine(engine);
    if (!egress->hooks || !status_is_known(egress->status))
        return 0;
    const bool looks = egress->dirty || egress->moved || has_rows(egress) ||
                       round->now_ms >= egress->homes.retry_ms;
    int r = egress->datapath && looks ? egress_homes_follow(egress, round) : 0;
    if (r < 0)
        return r;
    if (egress->dirty)
        r = write_maps(egress, round);
    else if (has_rows(egress))
        r = write_rows(egress, round);
    egress->behind &= r < 0 || egress->left_out;
    if (egress->gateway.gate && egress_follows(egress)) /* before its program answers a probe */
        egress_gate_beat(egress->gateway.gate, clock_mono_ms());
    if (r == 0 && (egress->dirty || egress->moved || has_rows(egress)))
        r = follow_node(egress, round);
    return r < 0 ? r : prove(egress, round);
}

static void publish(struct engine *engine, struct round *round)
{
    struct egress_engine *egress = of_engine(engine);
    if (round->error == 0)
        egress->dirty = egress->moved = false;
    else /* the touched rows are forgotten with the objects that they name */
        egress->dirty |= has_rows(egress);
    egress_touched_clear(&egress->touched);
}

static int64_t next_ms(const struct engine *engine, int64_t now_ms)
{
    const struct egress_engine *egress = read_engine(engine);
    (void)now_ms;
    int64_t gateway_ms = MIN(egress_gateway_drain_ms(&egress->gateway),
                             egress_gateway_retired_ms(&egress->gateway, &egress->plan));
    int64_t own_ms = MIN(egress->retry_ms, egress->homes.retry_ms);
    own_ms = MIN(own_ms, egress->room_retry_ms);
    return MIN(own_ms, gateway_ms);
}

const struct egress_plan *egress_engine_plan(const struct engine *engine)
{
    return read_engine(engine)->hooks ? &read_engine(engine)->plan : NULL;
}

bool egress_engine_carries(const struct engine *engine, uint32_t ifindex)
{
    return egress_hooks_carry(read_engine(engine), ifindex);
}

const struct egress_datapath *egress_engine_datapath(const struct engine *engine)
{
    return read_engine(engine)->datapath;
}

const struct egress_gate *egress_engine_gate(const struct engine *engine)
{
    return read_engine(engine)->gateway.gate;
}

const struct engine_ops egress_engine_ops = {
    .name = "egress",
    .scope = scope_of_egress,
    .open = open_egress,
    .close = close_egress,
    .configure = configure,
    .note = note,
    .hear = hear,
    .plan = plan,
    .write = write_egress,
    .publish = publish,
    .next_ms = next_ms,
};
