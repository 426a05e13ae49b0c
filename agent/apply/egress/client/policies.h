/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies and stays in a map "egress_routes": which destinations go to which set. The clients'
 * datapath and the gateway's have one each. Internal to apply/egress/.
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
    uint32_t last;           /* number that was given out last */
};

/* What the map shall hold; borrowed. */
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

/* Whether a policy is not in the map as a whole, for want of room there or of a set. */
bool egress_policy_is_partial(const struct egress_policies *policies,
                              const struct egress_policy_key *key);
uint32_t egress_policies_partial(const struct egress_policies *policies); /* how many */

/* Writes what lacks, with a number for each policy, and counts that. `ret_routes`: all that are
 * wanted, for egress_policies_drop(). Of a policy for which there is no room a part may be left
 * out. Returns 0 or -errno. */
int egress_policies_write(struct egress_policies *policies,
                          const struct egress_destinations *wanted, struct sorted *ret_routes,
                          int *written);

/* Removes what is not wanted, when nobody points to it any more. Returns 0 or -errno. */
int egress_policies_drop(struct egress_policies *policies, const struct egress_destinations *wanted,
                         const struct sorted *routes, int *written);
