/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the live maps and hooks of service NAT say: a table of functions that the program hands in,
 * because this room must not know who asks the kernel. Each may be called while a document is
 * written, and answers from the kernel, never from memory of what was written.
 */
#pragma once

#include "status/nat_status.h"

struct nat_live {
    void *context; /* of all functions */
    /* What a Service has moved. False: it is not in the maps. */
    bool (*counters)(void *context, const char *namespace, const char *name,
                     struct nat_counter *ret_counter);
    /*
     * What was refused. Returns 0 or -errno. Each list read is also given to nat_tally_add(), so
     * that the totals in nat_status are as new.
     */
    int (*refusals)(void *context, nat_refusal_list *ret_list);
    /* "namespace/name" of a service id in a flow or refusal; "" if nobody's. Returns `buffer`. */
    const char *(*service_name)(void *context, uint32_t service, char buffer[static NAT_NAME_MAX]);
    /* Calls `each` for at most `limit` flows; anything but 0 ends the walk. 0 or -errno. */
    int (*each_flow)(void *context, size_t limit,
                     int (*each)(const struct nat_flow_view *flow, void *each_context),
                     void *each_context);
    /* Fills one entry a map, in a fixed order; returns how many. */
    size_t (*maps)(void *context, struct nat_map_use use[static NAT_MAP_COUNT]);
    /* Where maps and hooks differ from what the objects ask for. Returns 0 or -errno. */
    int (*verify)(void *context, nat_difference_list *ret_list);
    /* What the last proof of an address found. False: it was not proved yet, or never is. */
    bool (*proof)(void *context, const struct ip *address, struct nat_proof *ret_proof);
};
