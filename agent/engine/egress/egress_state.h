/* SPDX-License-Identifier: Apache-2.0 */
/* The members of the egress engine, for the files that make it up. Internal to engine/egress/. */
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
    struct timer *timer; /* for the gateway's work */
    struct looks *looks;
    void (*wake)(void *context); /* requests a pass */
    void *wake_context;
    int64_t hooks_ms; /* monotonic: when the hooks were last queried */
};

struct egress_engine {
    struct engine engine;
    const struct config *config;
    struct store *store;
    struct kernel *kernel;
    struct status *status;
    struct board *board;

    struct egress_datapath *datapath; /* the clients' side; NULL: off, or could not be opened */
    struct egress_gateway_side gateway;
    struct egress_reach reach;
    struct egress_homes homes;
    struct egress_prober *prober; /* with `datapath` */
    struct nat_hooks *hooks;
    struct egress_plan plan;
    nat_attachment_list attached; /* wanted at the last round, sorted */
    bool hooked;                  /* ... and all of them were attached */
    struct egress_proving proving;
    struct egress_room room; /* of the gateway */
    struct egress_pulse pulse;
    struct egress_upkeep upkeep;

    bool dirty;                    /* objects changed: plan again */
    struct egress_touched touched; /* by changes since the last round, where that is not needed */
    bool moved;                    /* links changed: check the hooks */
    bool behind;                   /* what the source has reported is not yet in the maps */
    bool complete;                 /* a round over all has been written since the source synced */
    struct backoff retry;
    int64_t retry_ms;
    struct backoff room_retry; /* of entries for which the maps had no room */
    int64_t room_retry_ms;     /* INT64_MAX: all entries are in the maps */
    bool left_out;             /* a client of the gateway is not in the maps */
};

struct node_facts egress_facts(const struct egress_engine *egress);

/* All that the source has reported is in the maps, and it keeps reporting. */
bool egress_follows(const struct egress_engine *egress);

/* Replaces a group of faults of egress. */
void egress_report(struct egress_engine *egress, const char *group, const struct faults *faults);
