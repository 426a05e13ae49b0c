/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Service NAT's part of a pass: plan the Services that are dirty, write what changed into the maps,
 * prove it. It knows nothing of sources, timers or signals; reconcile.h decides when.
 *
 * The order across the planes is the caller's, with these three steps: nat_engine_plan() says which
 * addresses lose service; their routes go; nat_engine_write() writes the maps and proves what was
 * written; the routes of what is proved come.
 *
 * A round is one pass, or several: until all that was written, or is doubted, has been proved.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/kernel.h"
#include "apply/nat/plane.h"
#include "engine/nat/nat_node.h"
#include "engine/nat/nat_proofs.h"
#include "engine/nat/nat_triggers.h"
#include "plan/nat.h"
#include "status/status.h"
#include "store/store.h"

/* A Service whose row is not what it was. */
struct nat_turn {
    struct nat_row *old, *new; /* NULL: there was, is none */
};

/* A Service that is gone, in the maps until its routes have left the network. */
struct nat_leaver {
    struct nat_row *row;
    int64_t due_ms; /* monotonic */
};

/* What the passes of the round so far were. */
struct nat_round {
    int64_t began_us;     /* monotonic; 0: none is open */
    bool all, everything; /* over everything: by the work; or also since this node changed */
    bool writes;          /* there was something to write, or to compare */
};

struct nat_engine {
    const struct config *config;
    struct store *store;
    struct kernel *kernel;
    struct status *status;
    struct nat_plane *plane; /* NULL: NAT is off, or cannot be had */
    struct nat_node node;
    ip_list node_ports; /* the addresses they are served on, IPv4 first */
    struct sorted rows; /* struct nat_row *: as planned */
    struct nat_proofs proofs;
    VEC(struct nat_turn) turns;     /* planned, and not written yet */
    VEC(struct nat_leaver) leavers; /* their rows are not in `rows` any more */
    struct sorted unproved;         /* struct nat_row *, borrowed from `rows`: proved again later */
    struct sorted due;              /* likewise: to be proved by the next slices */
    struct nat_round round;
    struct nat_triggers triggers; /* of Services that are not programmed yet */
    bool complete;                /* a pass over everything has been written */
    bool synced;                  /* one of what a synced source says, not its copy */
    /* Called for each row that came or changed; with NULL when it went. May be NULL. */
    void (*on_row)(const char *namespace, const char *name, const struct nat_row *row,
                   void *context);
    void *on_row_context;
};

/* What NAT's part of a pass shall look at. */
struct nat_work {
    bool all;          /* everything: the first pass, resync, reload, the periodic doubt */
    bool node;         /* interfaces, addresses or networks changed */
    bool retry;        /* prove again what was not proved */
    nat_key_list keys; /* Services to plan again */
};

void nat_engine_init(struct nat_engine *engine, const struct config *config, struct store *store,
                     struct kernel *kernel, struct status *status);
void nat_engine_done(struct nat_engine *engine);

/*
 * Opens the maps and programs if NAT is on and they are not open yet; what is lacking is a fault,
 * and routes go on without. With NAT off, takes down what an earlier agent left.
 */
void nat_engine_open(struct nat_engine *engine);

/* What the planner is to know of this node. Borrowed, until the kernel is read again. */
struct route_facts nat_engine_facts(const struct nat_engine *engine);

/*
 * Takes in what interfaces and networks have become: svc0, hooks, addresses. Tells whether
 * nat_engine_way() is another now, and whether node ports are served elsewhere: then every Service
 * is to be planned. Returns 0 or -errno.
 */
int nat_engine_observe(struct nat_engine *engine, bool *ret_way_changed, bool *ret_ports_moved);
/* Where this node's own packets go, for the route planner; NULL: NAT is off, or has no svc0. */
const struct nat_way *nat_engine_way(const struct nat_engine *engine);

/*
 * Plans what is dirty. Adds addresses that lose service to `losses`, and every address of a Service
 * that changed to `touched`. Returns 0 or -ENOMEM.
 */
int nat_engine_plan(struct nat_engine *engine, const struct nat_work *work, ip_list *losses,
                    ip_list *touched);

/*
 * Writes what was planned, proves it as far as a slice goes, and adds the addresses whose proof
 * changed to `changed`. Returns 0 or -errno: then everything must be planned again.
 */
int nat_engine_write(struct nat_engine *engine, const struct nat_work *work, int64_t now_ms,
                     ip_list *changed);

/* True while there is more to prove: another pass shall follow at once. */
bool nat_engine_is_proving(const struct nat_engine *engine);

/* Takes note of an object that changed, for the metrics. Returns 0 or -ENOMEM. */
int nat_engine_saw(struct nat_engine *engine, const struct change *change);

/* Brings the counts of what stands up to date: one walk over all, for who asks. */
void nat_engine_count(struct nat_engine *engine);

/* True before the first pass over everything that a synced source, or else its copy, allows. */
bool nat_engine_is_new(const struct nat_engine *engine);

/* When the next one that is gone leaves the maps; INT64_MAX: none. */
int64_t nat_engine_next_leave(const struct nat_engine *engine);

/* What the maps shall hold: `rows`, and those that are leaving. Returns 0 or -errno. */
int nat_engine_verify(struct nat_engine *engine, nat_difference_list *list);
