// SPDX-License-Identifier: Apache-2.0
/*
 * The NAT engine; see nat_engine.h.
 *
 * In `plan` the engine first processes changes of interfaces, addresses and networks, then plans
 * the dirty Services. The plan shows which addresses lose service; the routes engine withdraws
 * those next. In `write` the engine changes the maps, and proves what it wrote, a slice at a time:
 * while proofs are left, it requests another round at once. A proof that failed may succeed soon
 * (the route to a new pod may still be missing), so it is retried after 0.1 s, doubling to 30 s.
 *
 * An address that an earlier agent announced has an inherited proof: it counts as proved until its
 * state is known, so that a restart withdraws nothing.
 */
#include "engine/nat/nat_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/host/svc0.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/ours.h"
#include "engine/nat/nat_planning.h"
#include "engine/nat/nat_state.h"
#include "engine/nat/nat_updates.h"
#include "engine/nat/proof/nat_proving.h"
#include "engine/nat/trace/trace.h"
#include "faults/nat.h"
#include "faults/raise.h"
#include "plan/nat/nat_addresses.h"

static struct nat_engine *to_nat(struct engine *engine)
{
    return (struct nat_engine *)engine;
}

/* Gives every address that an earlier agent announced an inherited proof. */
static int inherit(struct nat_engine *nat)
{
    CLEANUP(service_proofs_done) service_proof_list changes = { 0 };
    AUTOVEC ip_list changed = { 0 };
    sorted_each(const struct route, route, kernel_routes(nat->kernel)) {
        if (!ours_is_service(route->protocol) || route->table != nat->config->routes.table)
            continue;
        int r = nat_proofs_inherit(&changes, &route->prefix.ip);
        if (r < 0)
            return r;
    }
    return nat_proofs_commit(&nat->proofs, &changes, &changed);
}

static void take_down(const struct nat_engine *nat)
{
    const char *pins = nat->config->paths.bpf;
    int hooks = nat_hooks_remove(pins, NAT_LAYER_SERVICES);
    int maps = nat_datapath_unpin(pins), pair = svc0_remove();
    if (hooks > 0 || maps > 0 || pair > 0)
        log_notice("services.enabled is false: service NAT of an earlier agent is taken down");
}

/* Opens the maps and programs, including those of an earlier agent. Returns 0 or -errno. */
static int open_datapath(struct nat_engine *nat, struct faults *faults)
{
    const struct config *config = nat->config;
    const struct nat_datapath_options options = {
        .pins = config->paths.bpf,
        .max_flows = config->services.max_flows,
        .max_services = config->services.max_services,
        .max_endpoints = config->services.max_endpoints,
    };
    CLEANUP(nat_datapath_closep) struct nat_datapath *datapath = NULL;
    int r = nat_datapath_open(&options, &datapath, faults);
    if (r < 0)
        return r;
    r = nat_node_open(&nat->node, datapath, config->paths.bpf);
    if (r == 0)
        r = inherit(nat);
    if (r < 0) {
        nat_node_done(&nat->node);
        return r;
    }
    nat->datapath = TAKE_PTR(datapath);
    nat->board->nat_datapath = nat->datapath;
    nat_path_follow(nat);
    return 0;
}

/*
 * Where the maps can't be opened, the engine does nothing and a fault gives the reason; routes
 * continue.
 */
static void try_datapath(struct nat_engine *nat)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (!nat->config->services.enabled) {
        take_down(nat);
        return;
    }
    int r = open_datapath(nat, &faults);
    if (r < 0 && faults_none(&faults))
        fault_raise(&faults, "services.enabled", nat_unavailable, .reason = strerror(-r));
    nat_state_report(nat, "nat", &faults);
}

static int scope_of_nat(const struct config *config, struct kernel_scope *scope)
{
    scope->paths |= config->services.enabled;
    return 0;
}

static void close_nat(struct engine *engine)
{
    struct nat_engine *nat = to_nat(engine);
    nat_upkeep_done(nat);
    nat->board->proofs = nat->board->service_proofs = NULL;
    nat->board->nat_datapath = NULL;
    nat_state_done(nat);
    free(nat);
}

static int open_nat(const struct engine_setup *setup, struct engine **ret_engine)
{
    struct nat_engine *nat = calloc(1, sizeof(*nat));
    if (!nat)
        return -ENOMEM;
    nat_state_init(nat, setup);
    nat->engine.ops = &nat_engine_ops;
    nat->board->proofs = &nat->proofs.of_addresses;
    nat->board->service_proofs = &nat->proofs.of_services;
    try_datapath(nat);
    int r = nl_open(&nat->socket);
    if (r == 0)
        r = nat_upkeep_start(nat, setup);
    if (r < 0) {
        close_nat(&nat->engine);
        return r;
    }
    *ret_engine = &nat->engine;
    return 0;
}

static void configure(struct engine *engine, const struct config *config)
{
    to_nat(engine)->config = config;
    nat_path_follow(to_nat(engine));
    nat_routers_forget(to_nat(engine));
}

/* For the metrics: changes not applied yet. */
static void count_change(struct nat_status *status, const struct change *change)
{
    const struct object *any = change->after ? change->after : change->before;
    bool service = any->kind == KIND_SERVICE, slice = any->kind == KIND_ENDPOINT_SLICE;
    status->service_changes += service;
    status->endpoint_changes += slice;
    status->service_pending += service;
    status->endpoint_pending += slice;
    if (service || slice)
        status->last_queued_wall_ms = clock_wall_ms();
}

static int note(struct engine *engine, const struct change *change, struct round *round)
{
    struct nat_engine *nat = to_nat(engine);
    const struct node_facts facts = nat_state_facts(nat);
    (void)round;
    count_change(&nat->status->nat, change);
    if (!nat->datapath)
        return 0;
    int r = plan_nat_affected(&facts, change, &nat->work.keys, &nat->work.all, &nat->work.node);
    return r < 0 ? r : nat_triggers_saw(&nat->triggers, change);
}

static int hear(struct engine *engine, const struct kernel_events *events, struct round *round)
{
    struct nat_engine *nat = to_nat(engine);
    nat->work.node |= events->resynced || events->addresses || events->links;
    return nat->datapath ? nat_paths_hear(&nat->paths, events, round->now_ms) : 0;
}

/* Finds the addresses that node ports are served on; `ret_moved`: whether they changed. */
static int follow_node_ports(struct nat_engine *nat, bool *ret_moved)
{
    const struct node_facts facts = nat_state_facts(nat);
    AUTOVEC ip_list fresh = { 0 };
    int r = nat_node_port_addresses(&facts, IP_V4, &fresh);
    if (r < 0)
        return r;
    r = nat_node_port_addresses(&facts, IP_V6, &fresh);
    if (r < 0)
        return r;
    bool same = fresh.count == nat->node_ports.count;
    for (size_t i = 0; same && i < fresh.count; i++)
        same = ip_equal(&fresh.items[i], &nat->node_ports.items[i]);
    *ret_moved = !same;
    vec_move(&nat->node_ports, &fresh);
    return 0;
}

/* Processes changes of interfaces and networks: svc0, hooks, addresses. */
static int observe_node(struct nat_engine *nat, struct round *round)
{
    const struct node_facts facts = nat_state_facts(nat);
    const struct nat_svc0 before = nat->board->leads, *now = &nat->node.leads;
    bool ports_moved = false;
    int r = nat->datapath ? nat_node_follow(&nat->node, &facts, nat->kernel, nat->status) : 0;
    if (r < 0)
        return r;
    nat->board->leads = *now;
    nat->board->defaults = nat->node.defaults;
    round->svc0_moved |= before.ifindex != now->ifindex || !ip_equal(&before.v4, &now->v4) ||
                         !ip_equal(&before.v6, &now->v6);
    r = follow_node_ports(nat, &ports_moved);
    nat->work.all |= round->svc0_moved || ports_moved || nat->node.own_moved;
    nat->node.own_moved = false;
    return r;
}

/* Before the first pass over everything that a synced source, or its copy on disk, allows. */
static bool is_new(const struct nat_engine *nat)
{
    const struct status *status = nat->status;
    if (!nat->datapath || nat->synced)
        return false;
    return status->source.synced || (status->copy.in_force && !nat->complete);
}

/* Decides what this round covers, from the notes and the time. */
static void settle_work(struct nat_engine *nat, const struct round *round)
{
    struct nat_work *work = &nat->work;
    work->all |= round->all || is_new(nat);
    work->retry = round->now_ms >= nat->retry_ms;
    /* This node's own object names its own address. */
    work->node |= work->all || nat->node_doubted || (work->retry && nat->node.incomplete);
    nat->node_doubted = false;
    if (work->retry)
        nat->retry_ms = INT64_MAX;
}

/* Whether Services can be written: maps and svc0 exist, and the source's state is known. */
static bool is_usable(const struct nat_engine *nat)
{
    return nat->datapath && nat->node.leads.ifindex && status_is_known(nat->status);
}

static int plan(struct engine *engine, struct round *round)
{
    struct nat_engine *nat = to_nat(engine);
    settle_work(nat, round);
    int r = nat->work.node ? observe_node(nat, round) : 0;
    return r < 0 || !is_usable(nat) ? r : nat_updates_plan(nat, round);
}

static int write_nat(struct engine *engine, struct round *round)
{
    struct nat_engine *nat = to_nat(engine);
    if (is_usable(nat))
        return nat_updates_write(nat, round);
    if (!nat->datapath || !nat->node.moved)
        return 0;
    nat->node.moved = false; /* svc0 existed */
    return nat_proving_invalidate(nat, &round->touched);
}

/* Sets the time when failed proofs are retried; a time that is already set stays. */
static void plan_retry(struct nat_engine *nat, int64_t now_ms)
{
    if (nat->unproved.count == 0 && !nat->node.incomplete) {
        backoff_reset(&nat->retry);
        nat->retry_ms = INT64_MAX;
    } else if (nat->retry_ms == INT64_MAX) {
        nat->retry_ms = now_ms + backoff_next(&nat->retry);
    }
}

static void publish(struct engine *engine, struct round *round)
{
    struct nat_engine *nat = to_nat(engine);
    nat_state_drop_updates(nat);
    vec_done(&nat->work.keys);
    nat->work = (struct nat_work){ 0 };
    if (round->error == 0 && (!is_usable(nat) || !nat_proving_goes_on(nat)))
        plan_retry(nat, round->now_ms);
}

static int64_t next_ms(const struct engine *engine, int64_t now_ms)
{
    const struct nat_engine *nat = (const struct nat_engine *)engine;
    (void)now_ms;
    if (!is_usable(nat)) /* what is due waits until it can be written */
        return nat->retry_ms;
    int64_t next = MIN(nat->retry_ms, nat_paths_next_ms(&nat->paths));
    vec_each(const struct nat_retired, retired, &nat->retired)
        next = MIN(next, retired->due_ms);
    return next;
}

static enum progress progress(const struct engine *engine)
{
    const struct nat_engine *nat = (const struct nat_engine *)engine;
    if (!is_usable(nat))
        return PROGRESS_DONE;
    if (nat_proving_goes_on(nat))
        return PROGRESS_AT_ONCE;
    return nat->retired.count ? PROGRESS_LATER : PROGRESS_DONE;
}

static void count(struct engine *engine)
{
    const struct nat_engine *nat = to_nat(engine);
    struct nat_status *status = &nat->status->nat;
    status->services = status->frontends = status->endpoints = 0;
    sorted_each(struct nat_row *, row, &nat->rows) {
        status->services += (*row)->family_count > 0;
        for (uint32_t i = 0; i < (*row)->family_count; i++) {
            status->frontends += (uint32_t)(*row)->families[i].frontends.count;
            vec_each(const struct nat_port, port, &(*row)->families[i].ports)
                status->endpoints += (uint32_t)port->serving.count;
        }
    }
    nat_proofs_count(&nat->proofs, &status->proved, &status->unproved);
    if (nat->datapath)
        (void)nat_datapath_seen(nat->datapath, status->hook_packets);
}

const struct engine_ops nat_engine_ops = {
    .name = "nat",
    .scope = scope_of_nat,
    .open = open_nat,
    .close = close_nat,
    .configure = configure,
    .note = note,
    .hear = hear,
    .plan = plan,
    .write = write_nat,
    .publish = publish,
    .next_ms = next_ms,
    .progress = progress,
    .count = count,
};

/* ---- for the rest of the program ---- */

void nat_engine_listen(struct engine *engine,
                       void (*told)(const char *namespace, const char *name,
                                    const struct nat_row *row, void *context),
                       void *context)
{
    to_nat(engine)->told = told;
    to_nat(engine)->told_context = context;
}

struct nat_datapath *nat_engine_datapath(struct engine *engine)
{
    return to_nat(engine)->datapath;
}

const struct sorted *nat_engine_rows(const struct engine *engine)
{
    return &((const struct nat_engine *)engine)->rows;
}

struct node_facts nat_engine_facts(const struct engine *engine)
{
    return nat_state_facts((const struct nat_engine *)engine);
}

bool nat_engine_works(const struct engine *engine)
{
    const struct nat_engine *nat = (const struct nat_engine *)engine;
    return nat->datapath && nat->node.attached;
}

bool nat_engine_carries(const struct engine *engine, uint32_t ifindex)
{
    const struct nat_engine *nat = (const struct nat_engine *)engine;
    bool wanted = !nat->datapath;
    vec_each(const struct nat_attachment, it, &nat->node.wanted)
        wanted |= it->ifindex == ifindex;
    return wanted && (!nat->datapath || nat->node.attached);
}

bool nat_engine_proof(const struct engine *engine, const struct ip *address,
                      struct nat_proof *ret_proof)
{
    return nat_proofs_find(&((const struct nat_engine *)engine)->proofs, address, ret_proof);
}

int nat_engine_refusals(struct engine *engine, nat_refusal_list *ret_list)
{
    struct nat_engine *nat = to_nat(engine);
    int r = nat_datapath_refusals(nat->datapath, ret_list);
    return r < 0 ? r : nat_tally_add(&nat->status->nat.refused, ret_list);
}

int nat_engine_verify(struct engine *engine, nat_difference_list *list)
{
    struct nat_engine *nat = to_nat(engine);
    AUTOSORTED struct sorted rows = SORTED(struct nat_row *, nat_row_cmp);
    sorted_each(struct nat_row *, row, &nat->rows) {
        int r = sorted_put(&rows, row);
        if (r < 0)
            return r;
    }
    vec_each(const struct nat_retired, retired, &nat->retired) {
        int r = sorted_put(&rows, &retired->row);
        if (r < 0)
            return r;
    }
    int r = nat_datapath_verify(nat->datapath, &rows, list);
    return r < 0 ? r : nat_node_verify(&nat->node, list);
}

int nat_engine_trace(struct engine *engine, const struct trace_question *question,
                     const struct trace_next *next, struct trace *ret_trace)
{
    const struct nat_engine *nat = to_nat(engine);
    const struct tracer tracer = {
        .datapath = nat->datapath,
        .socket = nat->socket,
        .attachments = nat->node.wanted.items,
        .attachment_count = nat->node.wanted.count,
        .svc0_ifindex = nat->node.leads.ifindex,
        .links = kernel_links(nat->kernel),
        .rows = &nat->rows,
        .next = next,
    };
    return trace_packet(&tracer, question, ret_trace);
}
