/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that were in service before the first IPAddressPool, and that are in no pool since.
 *
 * Where there are pools, an address in a status is served only if it is in a pool. The first pool
 * must not interrupt addresses that were in service: they stay, and a fault names them until the
 * operator decides.
 */
#pragma once

#include "base/cleanup.h"
#include "base/sorted.h"
#include "config/config.h"
#include "status/status.h"
#include "store/store.h"

struct outside_keeper;

/* All borrowed. */
struct outside_options {
    const struct config *config;
    struct store *store;
    struct status *status;       /* ->source is read; ->faults: "pools", group "outside" */
    const struct sorted *routes; /* struct route: of the kernel; read at the start */
};

/* Reads the record in the state folder. Returns 0 or -ENOMEM. */
int outside_keeper_new(const struct outside_options *options, struct outside_keeper **ret_keeper);
void outside_keeper_free(struct outside_keeper *keeper);
DEFINE_CLEANUP(struct outside_keeper *, outside_keeper_free);

/*
 * Called before each pass: marks such addresses of Services as kept. Returns 0 or -ENOMEM: the next
 * call is over everything.
 */
int outside_keeper_run(struct outside_keeper *keeper);

void outside_keeper_set_config(struct outside_keeper *keeper, const struct config *config);
