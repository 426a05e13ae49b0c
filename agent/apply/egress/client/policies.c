// SPDX-License-Identifier: Apache-2.0
/*
 * Policies in a map; see policies.h.
 *
 * A policy is identified by its content, and has a number in the map. Numbers are allocated in
 * turn, so that a program which has just read one never finds another policy's routes under it.
 * Policies have no names in the map: those of an earlier agent are removed with the first removals.
 *
 * A full map affects only policies whose routes did not fit: these policies are partial.
 */
#include "apply/egress/client/policies.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/walk.h"
#include "base/macro.h"
#include "bpf/egress_abi.h"

void egress_policies_init(struct egress_policies *policies, int fd, egress_set_of *set_of,
                          const void *context)
{
    *policies = (struct egress_policies){
        .fd = fd,
        .set_of = set_of,
        .context = context,
        .installed = SORTED(struct egress_installed_policy, egress_installed_policy_cmp),
        .routes = SORTED(struct egress_route, egress_route_cmp),
    };
}

void egress_policies_done(struct egress_policies *policies)
{
    sorted_each(struct egress_installed_policy, policy, &policies->installed)
        free(policy->key.egresses);
    sorted_done(&policies->installed);
    sorted_done(&policies->routes);
}

/* ---- an earlier agent's ---- */

static struct egress_route read_route(const struct egress_route_key *key,
                                      const struct egress_route_value *value)
{
    const struct ip ip = nat_addr_ip(&key->addr);
    const bool v4 = ip.family == IP_V4 || key->prefixlen == 32 + 96;
    struct egress_route route = {
        .policy = ntohl(key->policy),
        .prefix = { .ip = ip, .length = (uint8_t)(key->prefixlen - 32 - (v4 ? 96 : 0)) },
        .set = value->set,
    };
    if (route.prefix.ip.family == IP_NONE) /* ::/n, which is no address */
        route.prefix.ip.family = IP_V6;
    return route;
}

int egress_policies_adopt(struct egress_policies *policies)
{
    AUTOWALK struct nat_walk walk;
    nat_walk_start(&walk, policies->fd, sizeof(struct egress_route_key),
                   sizeof(struct egress_route_value));
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            const struct egress_route route =
                read_route(nat_walk_key(&walk, i), nat_walk_value(&walk, i));
            policies->last = MAX(policies->last, route.policy);
            r = sorted_put(&policies->routes, &route);
            if (r < 0)
                return r;
        }
    }
    return r;
}

/* ---- numbers ---- */

uint32_t egress_policy_id(const struct egress_policies *policies,
                          const struct egress_policy_key *key)
{
    const struct egress_installed_policy wanted = { .key = *key };
    const struct egress_installed_policy *policy = sorted_find(&policies->installed, &wanted);
    return policy ? policy->id : 0;
}

bool egress_policy_is_partial(const struct egress_policies *policies,
                              const struct egress_policy_key *key)
{
    const struct egress_installed_policy wanted = { .key = *key };
    const struct egress_installed_policy *policy = sorted_find(&policies->installed, &wanted);
    return policy && policy->partial;
}

uint32_t egress_policies_partial(const struct egress_policies *policies)
{
    uint32_t count = 0;
    sorted_each(const struct egress_installed_policy, policy, &policies->installed)
        count += policy->partial;
    return count;
}

static void mark_partial(struct egress_policies *policies, uint32_t id)
{
    sorted_each(struct egress_installed_policy, policy, &policies->installed)
        policy->partial |= policy->id == id;
}

/* Allocates a number for every wanted policy that has none. Returns 0 or -ENOMEM. */
static int number_all(struct egress_policies *policies, const struct sorted *wanted)
{
    sorted_each(struct egress_policy *, policy, wanted) {
        if (egress_policy_id(policies, &(*policy)->key))
            continue;
        policies->last = policies->last + 1 ? policies->last + 1 : 1;
        struct egress_installed_policy fresh = { .key = (*policy)->key, .id = policies->last };
        fresh.key.egresses = strdup(fresh.key.egresses);
        int r = fresh.key.egresses ? sorted_put(&policies->installed, &fresh) : -ENOMEM;
        if (r < 0) {
            free(fresh.key.egresses);
            return r;
        }
    }
    return 0;
}

static void forget(struct egress_policies *policies, const struct sorted *wanted)
{
    for (size_t i = policies->installed.count; i-- > 0;) {
        struct egress_installed_policy *installed = sorted_at(&policies->installed, i);
        struct egress_policy key = { .key = installed->key };
        struct egress_policy *pointer = &key;
        if (sorted_find(wanted, &pointer))
            continue;
        const struct egress_installed_policy gone = *installed;
        sorted_remove(&policies->installed, &gone);
        free(gone.key.egresses);
    }
}

/* ---- routes ---- */

static struct egress_route_key route_key(const struct egress_route *route)
{
    unsigned bits = route->prefix.length + (route->prefix.ip.family == IP_V4 ? 96u : 0u);
    return (struct egress_route_key){
        .prefixlen = 32 + bits,
        .policy = htonl(route->policy),
        .addr = nat_addr_of(&route->prefix.ip),
    };
}

static int put_route(struct egress_policies *policies, const struct egress_route *route)
{
    const struct egress_route_key key = route_key(route);
    const struct egress_route_value value = { key.prefixlen, route->set };
    if (bpf_map_update_elem(policies->fd, &key, &value, BPF_ANY) < 0)
        return -errno;
    return sorted_put(&policies->routes, route);
}

static int remove_route(struct egress_policies *policies, const struct egress_route *route)
{
    const struct egress_route gone = *route;
    const struct egress_route_key key = route_key(&gone);
    if (bpf_map_delete_elem(policies->fd, &key) < 0 && errno != ENOENT)
        return -errno;
    sorted_remove(&policies->routes, &gone);
    return 0;
}

/* All wanted routes, sorted. Returns 0 or -ENOMEM. */
static int list_routes(struct egress_policies *policies, const struct egress_destinations *wanted,
                       struct sorted *ret_routes)
{
    for (size_t i = 0; i < wanted->excluded_count; i++) {
        const struct egress_route exclusion = { .prefix = wanted->excluded[i] };
        int r = sorted_put(ret_routes, &exclusion);
        if (r < 0)
            return r;
    }
    sorted_each(struct egress_policy *, policy, wanted->policies) {
        uint32_t id = egress_policy_id(policies, &(*policy)->key);
        vec_each(const struct egress_entry, entry, &(*policy)->entries) {
            const struct egress_route route = {
                .policy = id,
                .prefix = entry->destination,
                .set = policies->set_of(policies->context, entry->egress,
                                        entry->destination.ip.family),
            };
            int r = id && route.set ? sorted_put(ret_routes, &route) : 0;
            if (r < 0)
                return r;
            if (!route.set)
                mark_partial(policies, id);
        }
    }
    return 0;
}

int egress_policies_write(struct egress_policies *policies,
                          const struct egress_destinations *wanted, struct sorted *ret_routes,
                          int *written)
{
    int r = number_all(policies, wanted->policies);
    sorted_each(struct egress_installed_policy, policy, &policies->installed)
        policy->partial = false;
    if (r == 0)
        r = list_routes(policies, wanted, ret_routes);
    if (r < 0)
        return r;
    sorted_each(const struct egress_route, route, ret_routes) {
        const struct egress_route *installed = sorted_find(&policies->routes, route);
        if (installed && installed->set == route->set)
            continue;
        r = put_route(policies, route);
        if (r == -ENOSPC && route->policy) {
            mark_partial(policies, route->policy);
            continue;
        }
        if (r < 0)
            return r;
        (*written)++;
    }
    return 0;
}

int egress_policies_drop(struct egress_policies *policies, const struct egress_destinations *wanted,
                         const struct sorted *routes, int *written)
{
    for (size_t i = policies->routes.count; i-- > 0;) {
        const struct egress_route *route = sorted_at(&policies->routes, i);
        if (sorted_find(routes, route))
            continue;
        int r = remove_route(policies, route);
        if (r < 0)
            return r;
        (*written)++;
    }
    forget(policies, wanted->policies);
    return 0;
}
