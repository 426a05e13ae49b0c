// SPDX-License-Identifier: Apache-2.0
/*
 * The destination of a gateway's proof; see egress_outside.h.
 *
 * The destination with the shortest prefix represents all: its route is that of addresses without a
 * longer match, mostly the default route. No packet is sent there, only the route is looked up.
 */
#include "plan/egress/egress_outside.h"

#include <string.h>

#include "plan/egress/egress_names.h"

/*
 * For a default destination: a.root-servers.net. It is in no local network, and routers do not
 * filter it like reserved addresses.
 */
static struct ip anywhere(uint8_t family)
{
    struct ip ip = { 0 };
    (void)ip_parse(family == IP_V4 ? "198.41.0.4" : "2001:503:ba3e::2:30", &ip);
    return ip;
}

static struct ip address_in(const struct prefix *prefix)
{
    struct ip ip = prefix->ip;
    if (prefix->length == 0)
        return anywhere(ip.family);
    if (prefix->length < ip_bits(&ip))
        ip.bytes[ip_size(&ip) - 1] |= 1;
    return ip;
}

static void widen(struct prefix *widest, const struct egress *egress)
{
    for (uint32_t i = 0; i < egress->destination_count; i++) {
        const struct prefix *prefix = &egress->destinations[i];
        struct prefix *best = &widest[prefix->ip.family == IP_V6];
        if (best->ip.family == IP_NONE || prefix->length < best->length)
            *best = *prefix;
    }
}

int plan_egress_outside(const struct node_facts *facts, struct ip ret_addresses[static 2])
{
    AUTOFAULTS struct faults told = { 0 }; /* reported with the plan */
    AUTOVEC egress_ref_list served = { 0 };
    struct prefix widest[2] = { 0 };
    int r = plan_egress_served(facts, &served, &told);
    if (r < 0)
        return r;
    vec_each(const struct egress_ref, ref, &served)
        widen(widest, egress_of(facts, ref));
    for (int i = 0; i < 2; i++)
        ret_addresses[i] =
            widest[i].ip.family == IP_NONE ? (struct ip){ 0 } : address_in(&widest[i]);
    return 0;
}
