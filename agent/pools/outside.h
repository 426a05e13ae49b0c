/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that were served before there was any IPAddressPool, and that are in none since.
 *
 * Where there are pools, an address that a status merely names is served only if it is of one. The
 * first pool must not take out of the network what was in service: these addresses stay, and a
 * fault names them until somebody decides.
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
    const struct sorted *routes; /* struct route: of the kernel; asked at the start */
};

/* Reads what the state folder says. Returns 0 or -ENOMEM. */
int outside_keeper_new(const struct outside_options *options, struct outside_keeper **ret_keeper);
void outside_keeper_free(struct outside_keeper *keeper);
DEFINE_CLEANUP(struct outside_keeper *, outside_keeper_free);

/*
 * Before each pass: marks the Services of such addresses as looked after. Returns 0 or -ENOMEM: the
 * next call looks at everything.
 */
int outside_keeper_run(struct outside_keeper *keeper);

void outside_keeper_set_config(struct outside_keeper *keeper, const struct config *config);
