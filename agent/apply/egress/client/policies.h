/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies and excluded networks in a map "egress_routes": which destinations use which set. The
 * clients' datapath and the gateway's have one map each. Internal to apply/egress/.
 */
#pragma once

#include "apply/egress/installed.h"
#include "base/sorted.h"

/* The id of the set that an Egress has in a family; 0: none. */
typedef uint32_t egress_set_of(const void *context, const char *egress, uint8_t family);

struct egress_policies {
    int fd; /* of the map; borrowed */
    egress_set_of *set_of;
    const void *context;
    struct sorted installed; /* struct egress_installed_policy */
    struct sorted routes;    /* struct egress_route */
    uint32_t last;           /* number that was allocated last */
};

/* The wanted contents of the map; borrowed. */
struct egress_destinations {
    const struct sorted *policies; /* struct egress_policy * */
    const struct prefix *excluded;
    size_t excluded_count;
};

void egress_policies_init(struct egress_policies *policies, int fd, egress_set_of *set_of,
                          const void *context);
void egress_policies_done(struct egress_policies *policies);

/* Reads what an earlier agent has left in the map. Returns 0 or -errno. */
int egress_policies_adopt(struct egress_policies *policies);

/* The number of a policy; 0: it has none yet. */
uint32_t egress_policy_id(const struct egress_policies *policies,
                          const struct egress_policy_key *key);

/* Whether a policy is incomplete in the map, because the map is full or a set is missing. */
bool egress_policy_is_partial(const struct egress_policies *policies,
                              const struct egress_policy_key *key);
uint32_t egress_policies_partial(const struct egress_policies *policies); /* how many */

/* Writes missing routes, allocates a number for each policy, and counts the writes.
 * `ret_routes`: all wanted routes, for egress_policies_drop(). If there is no room, a policy may
 * be written in part. Returns 0 or -errno. */
int egress_policies_write(struct egress_policies *policies,
                          const struct egress_destinations *wanted, struct sorted *ret_routes,
                          int *written);

/* Removes routes that are not wanted, once no pod refers to them. Returns 0 or -errno. */
int egress_policies_drop(struct egress_policies *policies, const struct egress_destinations *wanted,
                         const struct sorted *routes, int *written);
