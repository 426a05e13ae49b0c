/* SPDX-License-Identifier: Apache-2.0 */
/* State of the routes engine between rounds. Only engine/routes/ includes this. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/routes/failed_routes.h"
#include "engine/routes/kept_routes.h"
#include "engine/routes/shadowed.h"
#include "loop/backoff.h"
#include "plan/routes/route_list.h"
#include "plan/routes/routes.h"

/* What is dirty: the next pass over the routes plans and compares it. */
struct route_work {
    bool all;                    /* everything */
    ip_list addresses;           /* rows to plan again */
    bool blocks;                 /* the block rows too */
    bool direct;                 /* and all rows of other nodes' blocks */
    direct_row_list direct_rows; /* or these of them, by prefix and block */
    /* Slots that another program wrote to: they are compared even if no row changed. */
    route_list foreign_changes;
    route_list slots;       /* filled by the pass: all slots it compares */
    bool rules;             /* another program changed the rules */
    uint32_t announcements; /* counted by the pass: prefixes announced or withdrawn */
    bool may_remove;        /* the source has synced: what it does not name may be removed */
};

struct route_engine {
    struct engine engine;
    const struct config *config;
    struct store *store;
    struct kernel *kernel;
    struct status *status;
    const struct board *board;
    struct route_plan plan;
    struct sorted holds;   /* struct hold */
    struct sorted leaving; /* struct leaving: route_holds.c */
    struct failed_routes failed_routes;
    bool swallowed;           /* a blackhole in main drops what we announce: blackholes.h */
    bool intruded;            /* BIRD writes into the export table: intruders.h */
    struct shadowed shadowed; /* what is routed away from svc0 */
    struct kept_routes kept;
    uint64_t networks;      /* direct_networks() when direct routes were last planned */
    struct route_work work; /* of the round that is being collected */
    struct backoff retry;   /* for slots that the kernel refused */
    int64_t retry_ms;       /* when these are tried again, monotonic; INT64_MAX: none is */
};

/* The present facts about this node. Borrowed until the kernel is read again. */
struct node_facts route_facts_now(const struct route_engine *engine);
