// SPDX-License-Identifier: Apache-2.0
/*
 * Service NAT beside its passes; see nat_service.h.
 *
 * The sweep over the flows has its own timer, since flows come and go without the agent; the same
 * timer reads the kernel's limits on ICMP errors again and asks whether the hooks hold our
 * programs, of whose change nobody tells. Without flows it fires every five seconds.
 */
#include "agentd/nat_service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "engine/nat/trace.h"
#include "health/health.h"
#include "loop/timer.h"

struct nat_service {
    struct nat_engine engine;
    struct health *health;
    struct timer *sweep_timer;
    struct nat_live live;
    struct nl_socket *socket; /* for the questions of a trace */
    int64_t limits_read_ms;
    void (*lost)(void *context);
    void *lost_context;
};

enum { LIMITS_MS = 5000 };

static void on_row(const char *namespace, const char *name, const struct nat_row *row,
                   void *context)
{
    struct nat_service *service = context;
    if (!row)
        health_drop_row(service->health, namespace, name);
    else if (health_set_row(service->health, row) < 0)
        log_error("no memory for the health port of Service %s/%s", namespace, name);
}

/* Counting walks the hash tables: it is done after a round of the sweep, not for who asks. */
static void count_maps(struct nat_service *service)
{
    struct nat_status *status = &service->engine.status->nat;
    status->map_count = nat_plane_maps(service->engine.plane, status->maps);
    for (size_t i = 0; i < status->map_count; i++) {
        if (strcmp(status->maps[i].name, "flows_new") == 0)
            status->half_open = status->maps[i].entries / 2;
    }
}

static void on_sweep(void *context)
{
    struct nat_service *service = context;
    struct nat_plane *plane = service->engine.plane;
    struct nat_status *status = &service->engine.status->nat;
    int64_t now_ms = clock_mono_ms(), next_ms = LIMITS_MS;
    if (!plane)
        return;
    if (now_ms - service->limits_read_ms >= LIMITS_MS) {
        service->limits_read_ms = now_ms;
        (void)nat_plane_read_limits(plane);
        if (service->engine.node.attached && !nat_node_is_attached(&service->engine.node))
            service->lost(service->lost_context);
    }
    int ended = nat_plane_sweep(plane, now_ms, &next_ms);
    if (ended < 0)
        log_error("sweeping the flows: %s", strerror(-ended));
    else
        status->ended += (uint64_t)ended;
    status->established = nat_plane_established(plane);
    if (next_ms >= SECOND_MS) /* a round is over */
        count_maps(service);
    status->last_sweep_wall_ms = clock_wall_ms();
    status->last_sweep_us = clock_mono_us() - now_ms * 1000;
    timer_arm(service->sweep_timer, MIN(next_ms, LIMITS_MS));
}

static bool live_counters(void *context, const char *namespace, const char *name,
                          struct nat_counter *ret_counter)
{
    struct nat_service *service = context;
    return nat_plane_counters(service->engine.plane, namespace, name, ret_counter);
}

static int live_refusals(void *context, nat_refusal_list *ret_list)
{
    struct nat_service *service = context;
    int r = nat_plane_refusals(service->engine.plane, ret_list);
    return r < 0 ? r : nat_tally_add(&service->engine.status->nat.refused, ret_list);
}

static const char *live_service_name(void *context, uint32_t id, char buffer[static NAT_NAME_MAX])
{
    struct nat_service *service = context;
    if (nat_plane_name(service->engine.plane, id, buffer) < 0)
        buffer[0] = '\0';
    return buffer;
}

static int live_each_flow(void *context, size_t limit,
                          int (*each)(const struct nat_flow_view *flow, void *each_context),
                          void *each_context)
{
    struct nat_service *service = context;
    return nat_plane_each_flow(service->engine.plane, limit, each, each_context);
}

static size_t live_maps(void *context, struct nat_map_use use[static NAT_MAP_COUNT])
{
    struct nat_service *service = context;
    return nat_plane_maps(service->engine.plane, use);
}

static int live_verify(void *context, nat_difference_list *ret_list)
{
    struct nat_service *service = context;
    return nat_engine_verify(&service->engine, ret_list);
}

static bool live_proof(void *context, const struct ip *address, struct nat_proof *ret_proof)
{
    struct nat_service *service = context;
    return nat_proofs_find(&service->engine.proofs, address, ret_proof);
}

int nat_service_new(const struct nat_service_options *options, struct nat_service **ret_service)
{
    CLEANUP(nat_service_freep) struct nat_service *service = calloc(1, sizeof(*service));
    if (!service)
        return -ENOMEM;
    nat_engine_init(&service->engine, options->config, options->store, options->kernel,
                    options->status);
    service->lost = options->lost;
    service->lost_context = options->context;
    service->engine.on_row = on_row;
    service->engine.on_row_context = service;
    service->live = (struct nat_live){
        .context = service,
        .counters = live_counters,
        .refusals = live_refusals,
        .service_name = live_service_name,
        .each_flow = live_each_flow,
        .maps = live_maps,
        .verify = live_verify,
        .proof = live_proof,
    };
    const struct health_options health = {
        .event = options->event,
        .config = options->config,
        .status = options->status,
    };
    int r = health_new(&health, &service->health);
    if (r == 0)
        r = timer_new(options->event, SD_EVENT_PRIORITY_IDLE, on_sweep, service,
                      &service->sweep_timer);
    if (r == 0)
        r = nl_open(&service->socket);
    if (r < 0)
        return r;
    nat_engine_open(&service->engine);
    if (service->engine.plane)
        timer_arm(service->sweep_timer, 0);
    *ret_service = TAKE_PTR(service);
    return 0;
}

void nat_service_free(struct nat_service *service)
{
    if (!service)
        return;
    timer_free(service->sweep_timer);
    health_free(service->health);
    nl_close(service->socket);
    nat_status_done(&service->engine.status->nat);
    nat_engine_done(&service->engine);
    free(service);
}

struct nat_engine *nat_service_engine(struct nat_service *service)
{
    return &service->engine;
}

void nat_service_configure(struct nat_service *service, const struct config *config)
{
    service->engine.config = config;
    if (health_configure(service->health, config) < 0 ||
        health_set_rows(service->health, &service->engine.rows) < 0)
        log_error("no memory for the health endpoints");
}

static void each_family(struct nat_service *service,
                        void (*tell)(struct health *health, uint8_t family))
{
    tell(service->health, IP_V4);
    tell(service->health, IP_V6);
}

void nat_service_queued(struct nat_service *service)
{
    each_family(service, health_queued);
}

void nat_service_passed(struct nat_service *service)
{
    struct nat_engine *engine = &service->engine;
    const struct route_facts facts = nat_engine_facts(engine);
    bool works = engine->plane && engine->node.attached;
    if (!status_is_known(engine->status))
        return;
    if (engine->status->nat.complete)
        each_family(service, health_applied);
    if (health_set_node(service->health, &facts) < 0)
        log_error("no memory for the health endpoints");
    health_set_works(service->health, IP_V4, works);
    health_set_works(service->health, IP_V6, works);
    health_sync(service->health);
}

const struct nat_live *nat_service_live(struct nat_service *service)
{
    return service->engine.plane ? &service->live : NULL;
}

int nat_service_trace(void *context, const struct trace_question *question, struct trace *ret_trace)
{
    struct nat_service *service = context;
    const struct nat_node *node = &service->engine.node;
    const struct tracer tracer = {
        .plane = service->engine.plane,
        .socket = service->socket,
        .attachments = node->wanted.items,
        .attachment_count = node->wanted.count,
        .svc0_ifindex = node->way.ifindex,
        .rows = &service->engine.rows,
    };
    return trace_packet(&tracer, question, ret_trace);
}
