// SPDX-License-Identifier: Apache-2.0
/*
 * Quotas in the maps; see share.h. rows.c calls this before each change.
 *
 * All nodes have maps of the same sizes and the same Services. So a namespace that fills a map
 * fills it on every node at once, and then no Service's endpoints can be replaced any more: the
 * pods of other namespaces move, and their Services keep addresses that do not exist. Therefore a
 * part of each map stays free for namespaces that need it more. After a change, the free part of
 * the map must be
 *
 *   at least 1/5    if the namespace exceeds its quota and the Service grows
 *   at least 1/10   if it exceeds its quota, while both old and new entries exist
 *   at least 1/20   if the Service grows within its namespace's quota
 *   anything        if a Service within its namespace's quota changes without growing
 *
 * so that growth stops before changes do, and namespaces with much room stop before those with
 * little. No namespace loses what it has. The quota of a namespace is the map divided by the number
 * of namespaces, but not less than 1/64 of the map.
 *
 * The number of free ids is known exactly, including those at rest: otherwise a namespace that
 * changes all the time would take these from others. Entries of tables are counted only when the
 * headroom, which every growth reduces, is used up. A node whose maps have room counts nothing.
 */
#include "apply/nat/services/share.h"

#include <errno.h>
#include <string.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/services/change.h"

enum { LEAST = 64 };

uint32_t nat_share_fair(uint32_t limit, uint32_t pod_interfaces)
{
    uint32_t equal = pod_interfaces ? limit / pod_interfaces : limit;
    return MAX(equal, limit / LEAST);
}

uint32_t nat_share_reserve(uint32_t limit, bool over, bool grows)
{
    if (over)
        return grows ? limit / 5 : limit / 10;
    return grows ? limit / 20 : 0;
}

enum nat_map_index nat_share_map(int shared)
{
    static const enum nat_map_index maps[NAT_SHARED_COUNT] = {
        [NAT_ID_SERVICE] = NAT_MAP_SERVICES,        [NAT_ID_PORT] = NAT_MAP_PORTS,
        [NAT_ID_ENDPOINT] = NAT_MAP_ENDPOINTS,      [NAT_ID_SLOT] = NAT_MAP_SLOTS,
        [NAT_SHARED_FRONTENDS] = NAT_MAP_FRONTENDS, [NAT_SHARED_RANGES] = NAT_MAP_RANGES,
    };
    return maps[shared];
}

static uint64_t slots_of(uint64_t members)
{
    return members ? space_block((uint32_t)members) : 0;
}

static struct nat_use use_of_installed(const struct nat_installed *installed)
{
    struct nat_use use = {
        .of = { [NAT_ID_SERVICE] = 1,
                [NAT_ID_PORT] = installed->ports.count,
                [NAT_ID_ENDPOINT] = installed->endpoints.count,
                [NAT_SHARED_FRONTENDS] = installed->entries.count,
                [NAT_SHARED_RANGES] = installed->ranges[0].count + installed->ranges[1].count },
    };
    vec_each(const uint64_t, set, &installed->sets)
        use.of[NAT_ID_SLOT] += slots_of((uint32_t)*set);
    return use;
}

static struct nat_use use_of_desired(const struct nat_desired *desired)
{
    struct nat_use use = {
        .of = { [NAT_ID_SERVICE] = 1,
                [NAT_ID_PORT] = desired->ports.count,
                [NAT_ID_ENDPOINT] = desired->endpoints.count,
                [NAT_SHARED_FRONTENDS] = desired->entries.count,
                [NAT_SHARED_RANGES] = NAT_BANKS * desired->ranges.count },
    };
    for (size_t i = 0; i < desired->ports.count; i++) {
        const struct nat_desired_port *port = &desired->ports.items[i];
        for (int set = 0; set < NAT_SETS; set++)
            use.of[NAT_ID_SLOT] += port->like[set] == i ? slots_of(port->sets[set].count) : 0;
    }
    return use;
}

static uint32_t limit_of(const struct nat_datapath *datapath, int shared)
{
    if (shared < NAT_ID_KINDS)
        return datapath->ids.spaces[shared].limit;
    return datapath->maps[nat_share_map(shared)].entries;
}

/* ---- the use by namespaces ---- */

struct census {
    struct nat_use all, own; /* of all namespaces, and of the change's one */
    uint32_t pod_interfaces;
};

static bool same_namespace(const char *name, const char *other)
{
    size_t length = strcspn(name, "/") + 1;
    return strncmp(name, other, length) == 0;
}

static void add(struct nat_use *sum, const struct nat_use *use)
{
    for (int i = 0; i < NAT_SHARED_COUNT; i++)
        sum->of[i] += use->of[i];
}

static struct census take_census(const struct nat_datapath *datapath, const char *name)
{
    struct census census = { 0 };
    const char *last = NULL;
    sorted_each(struct nat_installed *const, it, &datapath->installed) {
        const struct nat_use use = use_of_installed(*it);
        add(&census.all, &use);
        if (same_namespace(name, (*it)->name))
            add(&census.own, &use);
        census.pod_interfaces += !last || !same_namespace(last, (*it)->name);
        last = (*it)->name;
    }
    census.pod_interfaces += census.own.of[NAT_ID_SERVICE] == 0;
    census.pod_interfaces = MAX(census.pod_interfaces, datapath->pod_interfaces);
    return census;
}

/* ---- checks ---- */

static uint64_t free_of(struct nat_change *change, int shared, const struct census *census)
{
    const uint64_t limit = limit_of(change->datapath, shared), used = census->all.of[shared];
    if (shared < NAT_ID_KINDS)
        return nat_ids_free(&change->datapath->ids, (enum nat_id)shared, change->now_ms);
    return limit > used ? limit - used : 0;
}

/* True if the change may leave less than a fifth of some map free. */
static bool is_tight(struct nat_change *change)
{
    struct nat_datapath *datapath = change->datapath;
    const struct nat_use most = use_of_desired(change->desired);
    bool tight = false;
    for (int i = 0; i < NAT_ID_KINDS; i++)
        tight |= nat_ids_free(&datapath->ids, (enum nat_id)i, change->now_ms) <
                 most.of[i] + limit_of(datapath, i) / 5;
    for (int i = 0; i < NAT_SHARED_TABLES; i++) {
        datapath->headroom[i] -= (int64_t)most.of[NAT_ID_KINDS + i];
        tight |= datapath->headroom[i] < 0;
    }
    return tight;
}

/* Counted again: the number of additions to the tables before the next count. */
static void renew_headroom(struct nat_datapath *datapath, const struct census *census,
                           const struct nat_use *wanted)
{
    for (int i = 0; i < NAT_SHARED_TABLES; i++) {
        const int shared = NAT_ID_KINDS + i;
        const uint32_t limit = limit_of(datapath, shared);
        datapath->headroom[i] = (int64_t)limit - limit / 5 - (int64_t)census->all.of[shared] -
                                (int64_t)wanted->of[shared];
    }
}

static int judge_part(struct nat_change *change, int shared, const struct census *census,
                      uint64_t has, uint64_t wanted)
{
    const uint32_t limit = limit_of(change->datapath, shared);
    struct nat_part *part = &change->parts[shared];
    part->has = census->own.of[shared] - has + wanted;
    part->fair = nat_share_fair(limit, census->pod_interfaces);
    part->over = census->pod_interfaces > 1 && part->has > part->fair;
    part->reserve = nat_share_reserve(limit, part->over, wanted > has);
    if (wanted <= has || free_of(change, shared, census) >= wanted - has + part->reserve)
        return 0;
    change->at = nat_share_map(shared);
    return part->over ? -EDQUOT : -ENOSPC;
}

int nat_share_judge(struct nat_change *change)
{
    struct nat_use has = { 0 };
    if (!is_tight(change))
        return 0;
    const struct census census = take_census(change->datapath, change->installed->name);
    const struct nat_use wanted = use_of_desired(change->desired);
    renew_headroom(change->datapath, &census, &wanted);
    if (!change->created)
        has = use_of_installed(change->installed);
    for (int i = 0; i < NAT_SHARED_COUNT; i++) {
        int r = judge_part(change, i, &census, has.of[i], wanted.of[i]);
        if (r < 0)
            return r;
    }
    return 0;
}
