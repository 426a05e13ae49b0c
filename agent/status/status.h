/* SPDX-License-Identifier: Apache-2.0 */
/* What each subsystem says of itself. Written by source, apply and agentd; read by api. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "status/bird_status.h"
#include "status/fault_book.h"
#include "status/standing_status.h"

/*
 * A source of objects. Generations count what it has seen, so that `agentctl status --wait` can
 * tell when all that had been observed at the time of asking is applied.
 */
struct source_status {
    const char *name; /* "manifests" */
    const char *path;
    bool synced;                  /* everything there at the start has been read once */
    uint64_t observed_generation; /* rises with every event seen */
    uint64_t applied_generation;  /* the highest one whose consequences stand in the kernel */
    uint32_t files, broken_files, ignored_files;
    uint32_t unknown_files;   /* broken, and never read well since the start */
    uint64_t ignored_objects; /* of kinds that are not ours */
    int64_t last_event_wall_ms;
};

struct route_status {
    bool complete; /* a full pass has been done since the source synced */
    uint32_t wanted, installed, foreign, blocked, refused;
    uint32_t announced, withheld, held, blocks;
    uint64_t added, replaced, deleted; /* operations since the start */
    uint64_t repairs;                  /* those that undid someone else's change */
    uint64_t passes, full_passes;
    int64_t last_full_pass_wall_ms;
    int64_t last_full_pass_us; /* duration */
};

enum agent_phase { PHASE_STARTING, PHASE_RUNNING, PHASE_STOPPING };

struct status {
    const char *node;
    const char *version;
    enum agent_phase phase;
    int64_t started_wall_ms, started_mono_ms;
    const char *config_path;
    int64_t config_loaded_wall_ms;
    bool config_refused; /* the file on disk is bad; an older one is in force */
    bool nat_enabled;
    struct source_status source;
    struct route_status routes;
    struct standing_status standing;
    struct bird_status bird;
    struct fault_book *faults;
};
