/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts that the agent is made of, and what they share. For agentd/ alone.
 *
 * A part is a row in the table of agent.c: how it is opened, told of another configuration, told
 * that a pass is over, asked how it is, and closed. Parts do not call each other; they meet in the
 * store, the status, the board and the schedule. An operation that a part does not need is NULL.
 *
 * The configuration may be replaced at any time. Whoever keeps a pointer into it takes the new one
 * in `configure`; the old one is freed as soon as every part has been told.
 */
#pragma once

#include <systemd/sd-event.h>

#include "agentd/agent.h"
#include "api/api.h"
#include "apply/mirror/kernel.h"
#include "bgp/bgp.h"
#include "engine/engines.h"
#include "engine/schedule.h"
#include "health/health.h"
#include "loop/http.h"
#include "loop/looks.h"
#include "loop/notify.h"
#include "pools/outside.h"
#include "pools/pool_keeper.h"
#include "report/block_keeper.h"
#include "report/consul_keeper.h"
#include "report/event_keeper.h"
#include "segment/claims.h"
#include "source/copy_keeper.h"
#include "source/kube.h"
#include "source/manifest.h"
#include "standing/standing.h"
#include "store/store.h"

struct agent {
    sd_event *event;
    struct looks *looks; /* at what no notification tells of; those of parts end with the agent */
    char *config_path;
    struct config *config;
    struct store *store;
    struct status status;
    struct notifier *notifier;
    bool ready; /* READY=1 was sent */
    /* What parts tell of: a pass is complete; something that people are told is another. */
    void (*passed)(void *agent);
    void (*told)(struct agent *agent);

    int lock, network_lock; /* part_lock; negative: not taken */
    bool state_refused;     /* part_lock: nothing could be written to paths.state */
    struct kernel *kernel;  /* part_kernel */
    struct board board;     /* part_engines, and whom board.h names */
    struct engines *engines;
    struct schedule *schedule; /* part_schedule */

    struct health *health; /* part_services */
    struct nat_live live;

    struct egress_live egress_live; /* part_egress */

    struct standing_keeper *standing; /* part_standing */
    struct outside_keeper *outside;   /* part_pools */
    struct pool_keeper *pools;        /* part_pools; NULL: this agent gives no addresses */
    struct bgp *bgp;                  /* part_bird */

    struct pods_api *pods_api;   /* part_pods, as the next */
    struct pods_live pods_live;  /* without stays: pods are off */
    struct block_keeper *blocks; /* NULL: pods are off, or there is no API */

    struct api_state api_state; /* part_api */
    struct api api;
    struct api_changes *changes; /* NULL: the API is not open */
    struct http_server *socket;
    int64_t socket_retry_ms; /* monotonic: a lost one is not made again before */
    struct endpoint *tcp;    /* api.listen */

    struct manifest_source *manifests; /* part_source: one of the two sources */
    struct kube_source *kube;
    struct copy_keeper *copy; /* with kube, as the next two */
    char *copy_path, *kubeconfig_text;
    bool settled; /* kube: it has synced, or the wait for it is over */

    struct event_keeper *events; /* part_events; NULL: none are written */

    struct claims *claims; /* part_addresses; NULL: nothing is claimed */
    struct claims_live claims_live;

    struct consul_keeper *consul; /* part_consul; NULL: Consul is not asked */
};

struct part {
    const char *name;
    /* Says in the log why it can't. Returns 0 or -errno: then the agent does not start. */
    int (*open)(struct agent *agent);
    /* agent->config is another one. */
    void (*configure)(struct agent *agent);
    /* SIGHUP, even where the new configuration was refused: files that it names may be others. */
    void (*reload)(struct agent *agent);
    /* A pass is complete. */
    void (*passed)(struct agent *agent);
    /* Adds to the line for the service manager how it is: "2/2 peers"; nothing if there is nothing.
     */
    void (*health)(const struct agent *agent, struct text *text);
    /* Also after an open that failed, or never came. */
    void (*close)(struct agent *agent);
};

extern const struct part part_lock;      /* one agent at a time on a state folder */
extern const struct part part_kernel;    /* the mirror of the kernel's tables */
extern const struct part part_engines;   /* routes, service NAT */
extern const struct part part_services;  /* health ports; what the API asks of the live maps */
extern const struct part part_egress;    /* what the API asks of those of egress */
extern const struct part part_schedule;  /* the passes */
extern const struct part part_standing;  /* drain, withdraw, a node that was removed */
extern const struct part part_pools;     /* LoadBalancer addresses for the folder's Services */
extern const struct part part_pods;      /* addresses for the kubelet's pods */
extern const struct part part_addresses; /* those that one node of a segment has at a time */
extern const struct part part_bird;      /* what BIRD makes of our routes */
extern const struct part part_api;       /* the socket and the TCP port */
extern const struct part part_source;    /* where objects come from */
extern const struct part part_events;    /* Events for the owners of Services */
extern const struct part part_consul;    /* services of Consul's agent on this node */

/* ---- part_source.c ---- */

/* Where the API is. Returns as kube_config_load(). */
int source_load_kubeconfig(const struct agent *agent, struct kube_config **ret_kube,
                           struct faults *faults);

/* The generation up to which the source's events are in the store. The context is the agent. */
uint64_t source_loaded_generation(void *context);
/* Looks for what the source may have missed; likewise. */
void source_invalidate(void *context);

/* ---- part_pools.c ---- */

/* Before a pass: gives addresses. Returns 0, 1 if no pass is to be made, or -ENOMEM. The context is
 * the agent. */
int pools_prepare(void *context);

/* ---- part_pods.c ---- */

/* Before a pass: Pods of the store have the addresses that they were given; likewise. */
int pods_prepare(void *context);

/* ---- part_services.c ---- */

/* The source has seen something that is not applied yet. */
void services_queued(struct agent *agent);
/* What happens to one packet: a trace_function whose context is the agent. */
int services_trace(void *context, const struct trace_question *question, struct trace *ret_trace);
