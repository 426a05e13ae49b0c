/* SPDX-License-Identifier: Apache-2.0 */
/* What Beacons ask of the kernel: a blackhole route each. Pure, as all of plan/. */
#pragma once

#include "base/sorted.h"
#include "base/vec.h"
#include "model/beacon.h"
#include "plan/routes/route_table.h"
#include "store/store.h"

/* Of this example alone, so not in base/ours.h, where an engine that stays has its numbers. */
enum { BEACON_TABLE = 177, BEACON_PROTOCOL = 77 };

/* The route of one Beacon. */
struct route beacon_route(const struct beacon *beacon);

/* Those of all Beacons into an empty `routes` (struct route, by route_cmp()). 0 or -ENOMEM. */
int plan_beacons(const struct store *store, struct sorted *routes);

typedef VEC(struct route_op) beacon_ops;

/*
 * Appends what makes the kernel's routes the wanted ones; both are sorted by route_cmp(). With
 * `may_remove` false nothing is deleted. Returns 0 or -ENOMEM.
 */
int diff_beacons(const struct sorted *wanted, const struct sorted *there, bool may_remove,
                 beacon_ops *ops);
