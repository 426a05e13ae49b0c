/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to endpoints that changed: which rows have to be proved again, and when. The kernel tells of
 * each route that comes or goes, and of interfaces; only rows with an endpoint behind one of those
 * are proved again.
 *
 * An interface that goes is mostly a pod that ends: the kubelet takes it before the EndpointSlice
 * changes. Its endpoints are given NAT_PATH_GRACE_MS; rows that have one keep the proof they had.
 * So much an EndpointSlice needs where controllers are busy: 5 s were too few in a cluster of two
 * nodes whose machine built programs meanwhile. Only what goes with its interface waits: a route
 * that somebody deletes, or an interface that is down, is told after NAT_PATH_SETTLE_MS. An agent
 * that begins has not heard what went just before: for NAT_PATH_BEGIN_MS it tells of no way that
 * lacks.
 */
#pragma once

#include "apply/mirror/kernel.h"
#include "base/vec.h"
#include "plan/nat/nat_table.h"

enum {
    NAT_PATH_SETTLE_MS = 300, /* routes that go are often replaced, or go with their interface */
    NAT_PATH_GRACE_MS = 10000,
    NAT_PATH_BEGIN_MS = 5000,
    NAT_PATHS_ALL_MS = 10000,  /* between two proofs of all rows for the sake of ways */
    NAT_PATHS_RULES_MS = 1000, /* ... for the sake of somebody's rules */
    NAT_PATHS_MAX = 256,       /* more of them are all */
};

struct nat_path_change {
    struct prefix net;
    int64_t due_ms; /* monotonic: rows with an endpoint in it are proved then */
    bool grace;     /* its interface is gone: they are not, until then */
};

struct nat_paths {
    VEC(struct nat_path_change) doubts;
    int64_t all_ms;      /* when all rows are proved; 0: not needed */
    int64_t all_last_ms; /* when they were last */
    int64_t began_ms;    /* when ways were first asked for, monotonic; 0: not yet */
};

void nat_paths_done(struct nat_paths *paths);

/* Takes over what the kernel told. Returns 0 or -ENOMEM. */
int nat_paths_hear(struct nat_paths *paths, const struct kernel_events *events, int64_t now_ms);

/* Adds the rows whose time has come to `to_prove` (struct nat_row *). Returns 0 or -ENOMEM. */
int nat_paths_take_due(struct nat_paths *paths, const struct sorted *rows, int64_t now_ms,
                       struct sorted *to_prove);

/* Whether one of the row's endpoints went with its interface a moment ago. */
bool nat_paths_spare(const struct nat_paths *paths, const struct nat_row *row, int64_t now_ms);

/* Whether a way that lacks may have gone before the agent began: in its first NAT_PATH_BEGIN_MS. */
bool nat_paths_new(struct nat_paths *paths, int64_t now_ms);

/* When rows are due, monotonic; INT64_MAX: none are. */
int64_t nat_paths_next_ms(const struct nat_paths *paths);
