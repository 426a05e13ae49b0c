/* SPDX-License-Identifier: Apache-2.0 */
/* What the egress engine is made of, for the files that make it up. Internal to engine/egress/. */
#pragma once

#include "apply/egress/datapath.h"
#include "apply/egress/gateway/gateway.h"
#include "apply/nat/hooks/hooks.h"
#include "engine/egress/egress_gateway.h"
#include "engine/egress/egress_homes.h"
#include "engine/egress/egress_prober.h"
#include "engine/egress/egress_proving.h"
#include "engine/egress/egress_pulse.h"
#include "engine/egress/egress_reach.h"
#include "engine/egress/egress_room.h"
#include "engine/engine.h"
#include "loop/backoff.h"
#include "loop/timer.h"
#include "plan/egress/egress_affected.h"
#include "plan/facts.h"

struct egress_upkeep {
    struct timer *timer; /* of the gateway's work */
    struct looks *looks;
    void (*wake)(void *context); /* asks for a pass */
    void *wake_context;
    int64_t hooks_ms; /* monotonic: when the hooks were asked last */
};

struct egress_engine {
    struct engine engine;
    const struct config *config;
    struct store *store;
    struct kernel *kernel;
    struct status *status;
    struct board *board;

    struct egress_datapath *datapath; /* the clients' side; NULL: off, or it can't be had */
    struct egress_gateway_side gateway;
    struct egress_reach reach;
    struct egress_homes homes;
    struct egress_prober *prober; /* with `datapath` */
    struct nat_hooks *hooks;
    struct egress_plan plan;
    nat_attachment_list attached; /* wanted at the last round, sorted */
    bool hooked;                  /* ... and all of it was there */
    struct egress_proving proving;
    struct egress_room room; /* of the gateway */
    struct egress_pulse pulse;
    struct egress_upkeep upkeep;

    bool dirty;                    /* objects changed: plan anew */
    struct egress_touched touched; /* by changes since the last round, where that is not needed */
    bool moved;                    /* links changed: look at the hooks */
    bool behind;                   /* what the source has told is not in the maps yet */
    bool complete;                 /* a round over all has been written since the source synced */
    struct backoff retry;
    int64_t retry_ms;
    struct backoff room_retry; /* of what has found no place in the maps */
    int64_t room_retry_ms;     /* INT64_MAX: all has */
    bool left_out;             /* a client of the gateway's has not */
};

struct node_facts egress_facts(const struct egress_engine *egress);

/* All that the source has told is in the maps, and it goes on. */
bool egress_follows(const struct egress_engine *egress);

/* Replaces a group of faults of egress. */
void egress_report(struct egress_engine *egress, const char *group, const struct faults *faults);
