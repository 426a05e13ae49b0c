/* SPDX-License-Identifier: Apache-2.0 */
/* The state of each subsystem. Written by source, apply and agentd; read by api. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "status/bird_status.h"
#include "status/claim_status.h"
#include "status/consul_status.h"
#include "status/fault_book.h"
#include "status/firewall_status.h"
#include "status/kube_status.h"
#include "status/nat_status.h"
#include "status/standing_status.h"
#include "status/write_status.h"

/*
 * A source of objects. Generations count its events, so that `agentctl status --wait` can wait
 * until all events observed at the time of the request are applied.
 */
struct source_status {
    const char *name;             /* "manifests", "kubernetes" */
    const char *path;             /* the folder, or the address of the API */
    bool synced;                  /* everything that existed at the start has been read once */
    uint64_t observed_generation; /* incremented with every event */
    uint64_t applied_generation;  /* the highest one whose results are installed in the kernel */
    uint32_t files, broken_files, ignored_files;
    uint32_t unknown_files;   /* broken, and never read successfully since the start */
    uint64_t ignored_objects; /* of kinds that are not used */
    int64_t last_event_wall_ms;
    struct kube_status kube; /* of the Kubernetes source */
};

/* The copy on disk of the last objects of the Kubernetes source. */
struct copy_status {
    const char *path; /* NULL: none is kept, since another source is configured */
    int64_t
        written_wall_ms;   /* the copy that is there; 0: there is none, or none that can be used */
    int64_t as_of_wall_ms; /* time up to which its content was current */
    uint64_t objects, bytes;
    bool in_force; /* the source has not synced since the start: the objects of the copy are used */
};

/*
 * Addresses that are announced by routes in the kernel and belong to no known Service
 * (pools/allocator.h): their routes stay.
 */
struct unowned_status {
    const struct sorted *ips; /* struct ip; NULL: there are none */
};

struct route_status {
    bool complete; /* a full pass has been done since the objects are known */
    bool pending;  /* a pass is due: wanted and installed routes may differ until then */
    uint32_t wanted, installed, foreign, blocked, refused;
    uint32_t announced, withheld, held, blocks;
    uint64_t added, replaced, deleted; /* operations since the start */
    uint64_t repairs;                  /* those that undid a foreign change */
    uint64_t passes, full_passes;
    int64_t last_full_pass_wall_ms;
    int64_t last_full_pass_us; /* duration */
};

/* Responses of services.healthz: 200, 503. */
struct health_answers {
    uint64_t ok, unavailable;
};

struct health_status {
    struct health_answers healthz, livez;
};

enum agent_phase { PHASE_STARTING, PHASE_RUNNING, PHASE_STOPPING };

struct status {
    const char *node;
    const char *version;
    enum agent_phase phase;
    int64_t started_wall_ms, started_mono_ms;
    const char *config_path;
    int64_t config_loaded_wall_ms;
    bool config_refused; /* the file on disk is invalid; the previous one stays in use */
    struct source_status source;
    struct copy_status copy;
    struct route_status routes;
    struct unowned_status unowned;
    struct health_status health;
    struct standing_status standing;
    struct nat_status nat;
    struct firewall_status firewall;
    struct bird_status bird;
    struct write_status writes;
    struct consul_status consul;
    struct claim_counts claims;
    struct fault_book *faults;
};

/*
 * True if the store's objects are complete enough to plan with: a Service read before its endpoints
 * would refuse all connections. Installed state that no object wants may be removed only when the
 * source itself has synced.
 */
static inline bool status_is_known(const struct status *status)
{
    return status->source.synced || status->copy.in_force;
}
