/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of queries to the live maps, and the state of service NAT.
 *
 * The former are not kept: apply fills them in on request, api prints them, so that neither room
 * includes the other. The state is kept by agentd and read by api.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/vec.h"
#include "bpf/flow_abi.h"
#include "status/histogram.h"
#include "status/packet_seen.h"

/* ---- answers from the live maps ---- */

/* One difference between the live maps or hooks and what the objects require. */
struct nat_difference {
    char *service; /* "namespace/name", or "" */
    char *text;    /* "frontend 10.96.0.10:80/TCP is missing" */
};
typedef VEC(struct nat_difference) nat_difference_list;
void nat_differences_done(nat_difference_list *list);

/* Packets of one Service that were refused for one cause. */
struct nat_refusal {
    uint32_t service; /* 0: of no Service */
    enum nat_cause cause;
    uint64_t count;
    struct packet_seen last;
};
typedef VEC(struct nat_refusal) nat_refusal_list;

/* One flow, by its forward entry; a direct flow by the reversed tuple of its replies. */
struct nat_flow_view {
    struct ip client, address, endpoint, source; /* source: what the endpoint sees */
    uint16_t client_port, address_port, endpoint_port, source_port;
    uint8_t protocol;
    uint32_t service, port, endpoint_id;
    enum nat_state state;
    bool direct, masqueraded, hairpin;
    bool stale; /* its endpoint is gone */
    uint32_t idle_s;
    uint64_t packets[2], bytes[2]; /* to the endpoint, and back */
};

struct nat_map_use {
    const char *name;
    uint64_t entries, capacity, bytes; /* bytes: kernel memory charged for it */
};

/* The result of the probes of one address. */
struct nat_proof {
    struct ip address;
    bool as_planned; /* every frontend answers as planned */
    bool served;     /* and at least one forwards packets from outside or a pod */
    char why[208];   /* if not: frontend, slot and reason, in words */
};
typedef VEC(struct nat_proof) nat_proof_list;

/* "no-endpoints": a stable word, part of the API. And a sentence for operators. */
const char *nat_cause_name(enum nat_cause cause);
const char *nat_cause_text(enum nat_cause cause);
/* "clusterIP", "loadBalancer", "externalIP", "nodePort". */
const char *nat_frontend_kind_name(enum nat_frontend_kind kind);
/* "outside", "pod", "node". */
const char *nat_origin_name(enum nat_origin origin);
/* "pass", "forward", "reject", "drop". */
const char *nat_act_name(enum nat_act act);
/* "uplink-in", "svc-out". */
const char *nat_state_name(enum nat_state state);
const char *nat_hook_name(enum nat_hook hook);

/* ---- what is kept ---- */

/* An interface that has programs, or should have them. Bits are 1 << enum nat_hook. */
struct nat_interface_status {
    char name[16];
    uint8_t wanted, attached;
};

/*
 * Refused packets by cause, since the start. The table in the kernel loses the entries of deleted
 * Services, and those for which it is full; totals never decrease.
 */
struct nat_tally {
    uint64_t totals[NAT_CAUSE_COUNT];
    nat_refusal_list seen; /* as of the last call, sorted by service and cause */
};
/* Adds the packets since the last call. Returns 0, or -ENOMEM with nothing added. */
int nat_tally_add(struct nat_tally *tally, const nat_refusal_list *now);

struct nat_status {
    bool enabled;        /* services.enabled */
    bool complete;       /* a full pass has been done: every Service is in the maps */
    const char *method;  /* "tcx", "clsact"; NULL: not known yet */
    const char *path;    /* of masqueraded packets: "stack", "direct"; NULL: not known yet */
    char listener[128];  /* what makes it "stack" in automatic mode; "": nothing */
    bool defragments[2]; /* netfilter reassembles fragments at our request, beside other users;
                            IPv4, IPv6 */
    VEC(struct nat_interface_status) interfaces; /* in order of name */
    uint32_t services, frontends, endpoints;     /* that the maps should have */
    uint32_t proved, unproved;                   /* addresses */
    uint64_t passes, full_passes;                /* nat_status_synced() */
    uint64_t writes;                             /* Services written */
    uint64_t repairs;                            /* of maps and hooks, after foreign changes */
    int64_t last_pass_wall_ms, last_pass_us;     /* full or not */
    int64_t last_full_pass_wall_ms, last_full_pass_us;
    uint64_t established;             /* connections that a drain waits for */
    uint64_t flows[NAT_STATES];       /* in the last round of the sweep */
    uint64_t ended;                   /* flows that the sweep ended */
    uint64_t hook_packets[NAT_HOOKS]; /* seen since the start */
    struct nat_pressure pressure;     /* evictions and refusals of the programs for lack of space */
    int64_t last_sweep_wall_ms, last_sweep_us; /* the last round over the whole table */
    /*
     * Counted only after a full pass and a round of the sweep, since counting iterates over the
     * maps.
     */
    struct nat_map_use maps[NAT_MAP_COUNT];
    size_t map_count;
    struct nat_tally refused;
    /* For kube-proxy's metrics. */
    uint64_t service_changes, endpoint_changes;     /* objects seen changed since the start */
    uint32_t service_pending, endpoint_pending;     /* of these, those not in the maps yet */
    int64_t last_queued_wall_ms;                    /* when a change was last seen */
    struct histogram syncs, full_syncs, part_syncs; /* histogram_sync */
    struct histogram programming;                   /* histogram_programming */
};

/* Records a pass that ended, its proofs included, at that time, and its duration. */
void nat_status_synced(struct nat_status *nat, bool full, int64_t took_us, int64_t wall_ms);
/*
 * Records that the endpoints of a Service are in the maps and proved since `wall_ms`; their change
 * was triggered at `trigger_wall_ms` (annotation endpoints.kubernetes.io/last-change-trigger-time).
 */
void nat_status_programmed(struct nat_status *nat, int64_t trigger_wall_ms, int64_t wall_ms);
/* The memory of all maps together, in bytes. */
uint64_t nat_status_bytes(const struct nat_status *nat);
void nat_status_done(struct nat_status *nat);
