/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the routes: plan what is dirty, diff it against the kernel's mirror, act, report.
 * It knows nothing of sources, timers or signals; reconcile.h decides when a pass is due and what
 * is dirty.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/kernel.h"
#include "config/config.h"
#include "engine/routes/inheritance.h"
#include "engine/routes/troubles.h"
#include "plan/routes.h"
#include "status/status.h"
#include "store/store.h"

struct route_engine {
    const struct config *config;
    struct store *store;
    struct kernel *kernel;
    struct status *status;
    struct route_plan plan;
    struct sorted holds;         /* struct hold */
    const struct sorted *proofs; /* struct proof, borrowed; asked where services.enabled is true */
    struct troubles troubles;
    struct inheritance inheritance;
    /*
     * NULL while NAT is off, or svc0 not there. Borrowed from who makes svc0; a change of it, or of
     * what it says, asks for a pass over everything.
     */
    const struct nat_way *nat_way;
    enum standing standing; /* set by agentd/standing.h; a change asks for a pass over everything */
};

/* What a pass shall look at. */
struct route_work {
    bool all;               /* everything: first pass, resync, reload, the periodic doubt */
    ip_list addresses;      /* rows to plan again */
    bool blocks;            /* the block rows too */
    route_list drift;       /* slots that somebody else touched: compared though no row changed */
    route_list slots;       /* filled by the pass: all slots it compares */
    bool rules;             /* somebody else touched the rules */
    uint32_t announcements; /* counted by the pass: prefixes that came or went */
    bool may_remove;        /* the source has synced: what it does not say shall not stand */
};

void route_engine_init(struct route_engine *engine, const struct config *config,
                       struct store *store, struct kernel *kernel, struct status *status);
void route_engine_done(struct route_engine *engine);

/*
 * Carries out one pass. Returns the number of operations that the kernel was asked for, or -errno
 * when the pass could not be completed (memory, netlink socket); what is done is then true, and
 * the same work must be given again.
 */
int route_engine_pass(struct route_engine *engine, struct route_work *work, int64_t now_ms);
void route_work_done(struct route_work *work);

/* When the next held address may come back; INT64_MAX: none is held. */
int64_t route_engine_next_hold(const struct route_engine *engine, int64_t now_ms);
/* Appends the addresses whose hold ended by now, and forgets idle holds. */
int route_engine_due_holds(struct route_engine *engine, int64_t now_ms, ip_list *addresses);

/* Brings the counts of what the kernel has up to date: one walk over the mirror, for who asks. */
void route_engine_count(struct route_engine *engine);
