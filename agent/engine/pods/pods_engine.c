// SPDX-License-Identifier: Apache-2.0
/*
 * The pods engine as a row of the table of engines; see pods_engine.h. It is the first of the
 * table: the programs of service NAT and of egress are attached where routes lead to pods. It has
 * no `plan`; all its work is in `write`, because it depends on the kernel's state at that moment.
 * Without a change a round does nothing.
 */
#include "engine/pods/pods_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"
#include "engine/pods/pods_state.h"
#include "model/address_block.h"

static struct pods_engine *of(struct engine *engine)
{
    return (struct pods_engine *)engine;
}

static bool is_on(const struct pods_engine *pods)
{
    return pods->setup.config->pods.enabled;
}

static int scope_of_pods(const struct config *config, struct kernel_scope *scope)
{
    if (!config->pods.enabled)
        return 0;
    scope->paths = true; /* the uplinks' MTU */
    scope->rules = true;
    int r = scope_add_routes(scope, ROUTE_TABLE_MAIN, ROUTE_PROTOCOL_BLOCK);
    return r < 0 ? r : scope_add_routes(scope, ROUTE_TABLE_COIL, ROUTE_PROTOCOL_BLOCK);
}

static void close_pods(struct engine *engine)
{
    struct pods_engine *pods = of(engine);
    if (pods->unsaved)
        pods_memory_save(pods);
    nl_close(pods->socket);
    pod_addresses_done(&pods->addresses);
    sorted_done(&pods->attachments);
    sorted_done(&pods->chained);
    sorted_done(&pods->was_used);
    sorted_done(&pods->networks);
    pods_settings_done(pods);
    vec_done(&pods->losses);
    vec_done(&pods->waits);
    vec_done(&pods->closed);
    free(pods->path);
    free(pods);
}

static int prepare(struct pods_engine *pods)
{
    pods->path = text_format("%s/pod-addresses", pods->setup.config->paths.state);
    int r = pods->path ? pods_memory_load(pods) : -ENOMEM;
    return r < 0 ? r : nl_open(&pods->socket);
}

static int open_pods(const struct engine_setup *setup, struct engine **ret_engine)
{
    struct pods_engine *pods = calloc(1, sizeof(*pods));
    if (!pods)
        return -ENOMEM;
    *pods = (struct pods_engine){
        .engine = { &pods_engine_ops },
        .setup = *setup,
        .attachments = SORTED(struct pod_attachment, pod_interface_cmp),
        .chained = SORTED(struct pod_attachment, pod_interface_cmp),
        .was_used = SORTED(struct ip, ip_item_cmp),
        .networks = SORTED(struct pod_attachment, pod_interface_cmp),
        .drifts = SORTED(struct pod_drift, pod_drift_cmp),
        .blocks_dirty = true,
        .retry = { .initial_ms = SECOND_MS, .max_ms = MINUTE_MS },
        .retry_ms = INT64_MAX,
        .unowned_ms = INT64_MAX,
        .waits_ms = INT64_MAX,
        .rested_wall_ms = INT64_MAX,
        .settings_due_ms = INT64_MAX,
        .gone_due_ms = INT64_MAX,
    };
    pod_addresses_init(&pods->addresses);
    int r = is_on(pods) ? prepare(pods) : 0;
    if (r < 0) {
        close_pods(&pods->engine);
        return r;
    }
    *ret_engine = &pods->engine;
    return 0;
}

static void configure(struct engine *engine, const struct config *config)
{
    of(engine)->setup.config = config;
}

static int note(struct engine *engine, const struct change *change, struct round *round)
{
    struct pods_engine *pods = of(engine);
    const struct object *object = change->after ? change->after : change->before;
    (void)round;
    pods->blocks_dirty |= object->kind == KIND_ADDRESS_BLOCK;
    pods->dirty |= object->kind == KIND_POD && pods->losses.count > 0;
    pods_note_gone(pods, change);
    return 0;
}

static int hear(struct engine *engine, const struct kernel_events *events, struct round *round)
{
    struct pods_engine *pods = of(engine);
    pods->dirty |=
        events->links || events->other_rules || events->resynced || round->now_ms >= pods->retry_ms;
    vec_each(const struct route, route, &events->routes)
        pods->dirty |= route_is_pods(route);
    return pods_settings_hear(pods, events);
}

/*
 * The first promise that expires, the first loss that becomes a fault, and retries of refused
 * operations.
 */
static int64_t next_follow_ms(const struct pods_engine *pods, int64_t now_ms)
{
    int64_t next_ms = MIN(pods->retry_ms, pods->unowned_ms);
    sorted_each(const struct pod_attachment, attachment, &pods->attachments) {
        if (attachment->ifindex == 0)
            next_ms = MIN(next_ms, attachment->promised_ms + PODS_PROMISE_MS);
        if (attachment->down_ms && attachment->down_ms + POD_DOWN_GRACE_MS > now_ms)
            next_ms = MIN(next_ms, attachment->down_ms + POD_DOWN_GRACE_MS);
    }
    vec_each(const struct pod_loss, loss, &pods->losses) {
        int64_t told_ms = loss->lost_ms + POD_LOSS_GRACE_MS;
        next_ms = MIN(next_ms, told_ms > now_ms ? told_ms : loss->lost_ms + POD_LOSS_TOLD_MS);
    }
    return next_ms;
}

static int64_t next_ms(const struct engine *engine, int64_t now_ms)
{
    const struct pods_engine *pods = (const struct pods_engine *)engine;
    int64_t next_ms = MIN(next_follow_ms(pods, now_ms), pods->settings_due_ms);
    next_ms = MIN(next_ms, pods->waits_ms);
    if (pods->rested_wall_ms != INT64_MAX)
        next_ms = MIN(next_ms, now_ms + MAX(pods->rested_wall_ms - clock_wall_ms(), 1));
    return MIN(next_ms, pods->gone_due_ms);
}

/* Whether work is due that needs a round. */
static bool is_due(const struct pods_engine *pods, int64_t now_ms)
{
    return now_ms >= pods->due_ms;
}

static int follow(struct pods_engine *pods, struct round *round)
{
    if (!round->all && !pods->dirty && !pods->blocks_dirty && !is_due(pods, round->now_ms))
        return 0;
    int r = pods_follow(pods, round);
    if (r < 0)
        return r;
    pods->dirty = pods->blocks_dirty = false;
    pods->due_ms = next_follow_ms(pods, round->now_ms);
    pods->gone_dirty = true;                                     /* others may exist now */
    pods->unsaved |= round->all && access(pods->path, F_OK) < 0; /* another program removed it */
    if (pods->unsaved)
        pods_memory_save(pods);
    return 0;
}

static int write_pods(struct engine *engine, struct round *round)
{
    struct pods_engine *pods = of(engine);
    pods_follow_chained(pods, round->now_ms);
    if (clock_wall_ms() >= pods->rested_wall_ms)
        pods->rested_wall_ms = INT64_MAX; /* a waiting runtime asks again after this round */
    if (!is_on(pods) || !status_is_known(pods->setup.status))
        return 0;
    int r = follow(pods, round);
    if (r < 0)
        return r;
    pods_follow_gone(pods, round->now_ms);
    r = pods_follow_waits(pods, round->now_ms);
    if (r < 0)
        return r;
    return pods_follow_settings(pods, round->now_ms);
}

const struct sorted *pods_engine_stays(const struct engine *engine)
{
    const struct pods_engine *pods = (const struct pods_engine *)engine;
    return is_on(pods) ? &pods->attachments : NULL;
}

const struct pod_addresses *pods_engine_table(const struct engine *engine)
{
    const struct pods_engine *pods = (const struct pods_engine *)engine;
    return is_on(pods) ? &pods->addresses : NULL;
}

const struct pod_addresses *pods_engine_addresses(const struct engine *engine)
{
    const struct pods_engine *pods = (const struct pods_engine *)engine;
    return is_on(pods) && pods->known ? &pods->addresses : NULL;
}

const pod_wait_list *pods_engine_waits(struct engine *engine)
{
    struct pods_engine *pods = of(engine);
    int64_t now_ms = clock_mono_ms();
    size_t kept = 0;
    vec_each(const struct pod_wait, wait, &pods->waits) {
        if (now_ms - wait->asked_ms < POD_WAIT_MS)
            pods->waits.items[kept++] = *wait;
    }
    pods->waits.count = kept;
    return &pods->waits;
}

/* Without memory a block stays open, and is closed by its deletion, which the source reports. */
void pods_engine_close_block(struct engine *engine, const char *name, bool closed)
{
    struct pods_engine *pods = of(engine);
    struct pod_block *block = pod_block_named(&pods->addresses, name);
    struct pod_closed entry;
    size_t kept = 0;
    vec_each(const struct pod_closed, it, &pods->closed) {
        if (strcmp(it->name, name) != 0)
            pods->closed.items[kept++] = *it;
    }
    pods->closed.count = kept;
    snprintf(entry.name, sizeof(entry.name), "%s", name);
    if (closed && vec_push(&pods->closed, entry) < 0)
        return;
    if (block)
        block->closed = closed;
    if (!closed)
        pods->setup.wake(pods->setup.context); /* a waiting pod may get an address of it */
}

const struct engine_ops pods_engine_ops = {
    .name = "pods",
    .scope = scope_of_pods,
    .open = open_pods,
    .close = close_pods,
    .configure = configure,
    .note = note,
    .hear = hear,
    .write = write_pods,
    .next_ms = next_ms,
};
