/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates LoadBalancer addresses to Services of the manifest folder from its pools
 * (pools.allocate), where there is no API and no controller.
 *
 * The allocator decides (pools/allocator.h); the keeper records the assignments in the state
 * folder, and then puts the addresses into the store as those of the Services' statuses. Every
 * planner reads them from there, as it reads those of a cluster.
 */
#pragma once

#include "base/cleanup.h"
#include "config/config.h"
#include "pools/allocator.h"
#include "status/status.h"

struct pool_keeper;

/* All borrowed. */
struct pool_keeper_options {
    const struct config *config;
    struct store *store;
    struct status *status;       /* ->source is read; ->faults: "pools" */
    const struct sorted *routes; /* struct route: of the kernel */
    /* Calls `each` with every Service that this node has served at an address; -ENODATA: that is
     * not known. */
    int (*each_owner)(void *context, const struct ip *ip,
                      int (*each)(const char *namespace, const char *name, void *with), void *with);
    void *context; /* of each_owner */
};

/* Reads the record in the state folder; one that can't be read is a fault. Returns 0 or -errno. */
int pool_keeper_new(const struct pool_keeper_options *options, struct pool_keeper **ret_keeper);
void pool_keeper_free(struct pool_keeper *keeper);
DEFINE_CLEANUP(struct pool_keeper *, pool_keeper_free);

/*
 * Allocates addresses for what has changed in the store since the last pass. To be called before
 * each pass. Returns 0; or -ENOMEM: the next call is over everything.
 */
int pool_keeper_run(struct pool_keeper *keeper);

/* Applies a reloaded configuration. */
void pool_keeper_set_config(struct pool_keeper *keeper, const struct config *config);

const struct pool_allocator *pool_keeper_allocator(const struct pool_keeper *keeper);
