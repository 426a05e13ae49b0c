/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changed routes to endpoints: which rows have to be proved again, and when. The kernel notifies of
 * each route that is added or deleted, and of interfaces; only rows with an endpoint behind one of
 * those are proved again.
 *
 * An interface that is deleted mostly belongs to a pod that ends: the kubelet deletes it before the
 * EndpointSlice changes. Its endpoints have NAT_PATH_GRACE_MS; meanwhile rows with such an endpoint
 * keep their proof. An EndpointSlice needs this long where controllers are busy: 5 s were too few
 * in a cluster of two nodes whose machine built programs meanwhile. Only endpoints whose interface
 * was deleted wait: a route that another program deletes, or an interface that is down, is reported
 * after NAT_PATH_SETTLE_MS. An agent that starts has missed the notifications just before: for
 * NAT_PATH_BEGIN_MS it reports no missing route.
 */
#pragma once

#include "apply/mirror/kernel.h"
#include "base/vec.h"
#include "plan/nat/nat_table.h"

enum {
    NAT_PATH_SETTLE_MS = 300, /* deleted routes are often replaced, or their interface is deleted */
    NAT_PATH_GRACE_MS = 10000,
    NAT_PATH_BEGIN_MS = 5000,
    NAT_PATHS_ALL_MS = 10000,  /* between two proofs of all rows because of routes */
    NAT_PATHS_RULES_MS = 1000, /* ... because of other programs' rules */
    NAT_PATHS_MAX = 256,       /* above this number, all rows are proved */
};

struct nat_path_change {
    struct prefix net;
    int64_t due_ms; /* monotonic: rows with an endpoint in it are proved then */
    bool grace;     /* its interface is gone: until then the rows are not proved */
};

struct nat_paths {
    VEC(struct nat_path_change) doubts;
    int64_t all_ms;      /* when all rows are proved; 0: not needed */
    int64_t all_last_ms; /* when all rows were last proved */
    int64_t began_ms;    /* when routes were first checked, monotonic; 0: not yet */
};

void nat_paths_done(struct nat_paths *paths);

/* Takes in the kernel's notifications. Returns 0 or -ENOMEM. */
int nat_paths_hear(struct nat_paths *paths, const struct kernel_events *events, int64_t now_ms);

/* Adds the rows that are due to `to_prove` (struct nat_row *). Returns 0 or -ENOMEM. */
int nat_paths_take_due(struct nat_paths *paths, const struct sorted *rows, int64_t now_ms,
                       struct sorted *to_prove);

/* Whether the interface of one of the row's endpoints was deleted a moment ago. */
bool nat_paths_spare(const struct nat_paths *paths, const struct nat_row *row, int64_t now_ms);

/*
 * Whether a missing route may have been deleted before the agent started: in its first
 * NAT_PATH_BEGIN_MS.
 */
bool nat_paths_new(struct nat_paths *paths, int64_t now_ms);

/* When rows are due, monotonic; INT64_MAX: none are. */
int64_t nat_paths_next_ms(const struct nat_paths *paths);
