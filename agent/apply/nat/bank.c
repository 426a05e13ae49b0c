// SPDX-License-Identifier: Apache-2.0
/*
 * Ports, slots and endpoints of one Service: filling the idle bank, and clearing up after the
 * switch or instead of it. rows.c calls this in the course of a change.
 *
 * A set whose members did not change keeps its slots, and both banks point to them. A set that
 * changed gets new slots; the old ones rest after the switch. A new port id is written into both
 * banks. In the one in force all its outcomes are DROP, because entries of "frontends" with this id
 * are written before the switch, and packets must not get anywhere by them until then.
 *
 * An endpoint lives as long as it serves, whether or not it is in a set, so that UDP flows to it go
 * on. Every endpoint gets a generation of its own; the word with the last one is written before the
 * endpoint, so that no crash makes a generation occur twice.
 *
 * The lists of the row and those of the installed Service are both in the order of addresses, so
 * one walk along both matches them. An installed id whose array entry was changed by somebody else
 * counts as gone.
 */
#include <arpa/inet.h>
#include <errno.h>

#include "apply/nat/arrays.h"
#include "apply/nat/bank.h"
#include "apply/nat/filter.h"
#include "apply/nat/local.h"

static void write_port(struct nat_plane *plane, uint32_t bank, uint64_t outcomes,
                       const struct nat_installed_port *port)
{
    struct nat_port_value *value = nat_port_at(plane, port->id, bank);
    nat_word_set(&value->owner, port->owner);
    for (int set = 0; set < NAT_SETS; set++)
        nat_word_set(&value->sets[set], port->sets[set]);
    nat_word_set(&value->outcomes, outcomes);
}

static int take(struct nat_change *change, enum nat_id kind, uint32_t count, uint32_t *ret_first)
{
    const struct nat_part *part = &change->parts[kind];
    change->at = nat_share_map(kind);
    if (part->reserve && nat_ids_free(&change->plane->ids, kind, change->now_ms) <
                             (uint64_t)space_block(count) + part->reserve)
        return part->over ? -EDQUOT : -ENOSPC;
    return nat_ids_take(&change->plane->ids, kind, count, change->now_ms, ret_first);
}

static void rest(struct nat_change *change, enum nat_id kind, uint32_t first, uint32_t count)
{
    nat_ids_rest(&change->plane->ids, kind, first, count, change->now_ms);
}

static void rest_slots(struct nat_change *change, uint64_t set)
{
    if ((uint32_t)set)
        rest(change, NAT_ID_SLOT, (uint32_t)(set >> 32), space_block((uint32_t)set));
}

/* What an installed port becomes; NULL: no port so far. */
static struct nat_port_change *find_now(struct nat_change *change,
                                        const struct nat_installed_port *old)
{
    vec_each(struct nat_port_change, port, &change->ports) {
        if (port->old == old)
            return port;
    }
    return NULL;
}

/* An installed port of this owner that no earlier port has taken: a number may occur twice. */
static struct nat_installed_port *find_old(struct nat_change *change, uint64_t owner)
{
    vec_each(struct nat_installed_port, port, &change->installed->ports) {
        if (port->owner == owner && !find_now(change, port))
            return port;
    }
    return NULL;
}

static int begin_port(struct nat_change *change, const struct nat_desired_port *desired,
                      struct nat_port_change *port)
{
    uint64_t owner = (uint64_t)change->installed->id << 32 | desired->owner;
    struct nat_port_change begun = { .old = find_old(change, owner), .now.owner = owner };
    if (begun.old) {
        begun.now.id = begun.old->id;
    } else {
        int r = take(change, NAT_ID_PORT, 1, &begun.now.id);
        if (r < 0)
            return r;
        for (uint32_t bank = 0; bank < NAT_BANKS; bank++)
            write_port(change->plane, bank, NAT_OUTCOMES_NONE, &begun.now);
    }
    begun.now.endpoints = port->now.endpoints; /* the memory that nat_change_begin() reserved */
    *port = begun;
    change->ports.count++;
    return 0;
}

static int begin_endpoint(struct nat_change *change, const struct nat_endpoint *endpoint,
                          uint32_t port, uint32_t *ret_id)
{
    struct nat_plane *plane = change->plane;
    uint32_t id;
    int r = take(change, NAT_ID_ENDPOINT, 1, &id);
    if (r < 0)
        return r;
    uint32_t *last = &plane->endpoints[0].addr.words[NAT_GENERATION_WORD];
    uint32_t generation = *last + 1 ? *last + 1 : 1;
    __atomic_store_n(last, generation, __ATOMIC_RELEASE);

    struct nat_endpoint_value *value = &plane->endpoints[id];
    value->addr = nat_addr_of(&endpoint->ip);
    value->port = htons(endpoint->port);
    value->owner = port;
    bool local = nat_is_local(plane, &endpoint->ip);
    nat_word_set(&value->state, generation | (local ? NAT_ENDPOINT_ON_NODE : 0));
    change->begun.items[change->begun.count++] = id;
    *ret_id = id;
    return 0;
}

/*
 * Passes the installed endpoints from `*at` on that sort before `endpoint`, which are gone. True if
 * the next one is `endpoint` itself, and lives.
 */
static bool match(struct nat_change *change, const struct nat_installed_port *old, size_t *at,
                  const struct nat_endpoint *endpoint)
{
    if (!old)
        return false;
    for (; *at < old->endpoints.count; ++*at) {
        uint32_t id = old->endpoints.items[*at];
        bool lives = nat_endpoint_lives(change->plane, id, old->id);
        struct nat_endpoint installed = nat_endpoint_of(change->plane, id);
        int r = nat_endpoint_cmp(&installed, endpoint);
        if (lives && r == 0)
            return true;
        if (lives && r > 0)
            return false;
        change->ended.items[change->ended.count++] = id;
    }
    return false;
}

static void end_rest(struct nat_change *change, const struct nat_installed_port *old, size_t at)
{
    for (; old && at < old->endpoints.count; at++)
        change->ended.items[change->ended.count++] = old->endpoints.items[at];
}

static int match_endpoints(struct nat_change *change, const struct nat_desired_port *desired,
                           struct nat_port_change *port)
{
    struct nat_union all = nat_union_of(desired->port);
    struct nat_endpoint endpoint;
    unsigned sets;
    size_t at = 0;
    while (nat_union_next(&all, &endpoint, &sets)) {
        uint32_t id;
        if (match(change, port->old, &at, &endpoint)) {
            id = port->old->endpoints.items[at++];
        } else {
            int r = begin_endpoint(change, &endpoint, port->now.id, &id);
            if (r < 0)
                return r;
        }
        port->now.endpoints.items[port->now.endpoints.count++] = id;
    }
    end_rest(change, port->old, at);
    return 0;
}

/*
 * Compares the slots of a port's sets with the desired members. `ids`: the endpoints of the port;
 * `live`: the words of its sets. `counts`: how many members each set shall have; `same`: whether
 * its slots rise, and are those of just these.
 */
static void compare_slots(const struct nat_plane *plane, const struct nat_desired_port *desired,
                          const uint32_t *ids, const uint64_t live[static NAT_SETS],
                          uint32_t counts[static NAT_SETS], bool same[static NAT_SETS])
{
    struct nat_union all = nat_union_of(desired->port);
    struct nat_endpoint endpoint;
    unsigned sets;
    const __u64 *slots[NAT_SETS];
    uint32_t limits[NAT_SETS];
    for (int set = 0; set < NAT_SETS; set++) {
        slots[set] = nat_set_slots(plane, live[set], &limits[set]);
        counts[set] = 0;
        same[set] = true;
        for (uint32_t i = 1; i < limits[set]; i++)
            same[set] &= slots[set][i - 1] < slots[set][i];
    }
    for (size_t i = 0; nat_union_next(&all, &endpoint, &sets); i++) {
        uint64_t word = nat_slot_of(plane, ids[i]);
        for (int set = 0; set < NAT_SETS; set++) {
            if (!(sets >> set & 1))
                continue;
            counts[set]++;
            same[set] = same[set] && limits[set] &&
                        bsearch(&word, slots[set], limits[set], sizeof(word), nat_word_cmp);
        }
    }
    for (int set = 0; set < NAT_SETS; set++)
        same[set] &= counts[set] == limits[set];
}

static void mark_local(struct nat_change *change, uint32_t id, const struct ip *ip)
{
    __u64 *state = &change->plane->endpoints[id].state;
    uint64_t wanted = *state & ~NAT_ENDPOINT_ON_NODE;
    if (nat_is_local(change->plane, ip))
        wanted |= NAT_ENDPOINT_ON_NODE;
    nat_word_set(state, wanted);
}

/* No program reads the slots of a set that is new: they are put in order where they are. */
static void write_members(struct nat_change *change, const struct nat_desired_port *desired,
                          const struct nat_installed_port *port, const bool write[static NAT_SETS])
{
    struct nat_union all = nat_union_of(desired->port);
    struct nat_endpoint endpoint;
    unsigned sets;
    uint32_t n[NAT_SETS] = { 0 };
    for (size_t i = 0; nat_union_next(&all, &endpoint, &sets); i++) {
        uint32_t id = port->endpoints.items[i];
        for (int set = 0; set < NAT_SETS; set++) {
            if (sets >> set & 1 && write[set])
                change->plane->slots[(port->sets[set] >> 32) + n[set]++] =
                    nat_slot_of(change->plane, id);
        }
        mark_local(change, id, &endpoint.ip);
    }
    for (int set = 0; set < NAT_SETS; set++) {
        if (n[set])
            qsort(&change->plane->slots[port->sets[set] >> 32], n[set], sizeof(uint64_t),
                  nat_word_cmp);
    }
}

static int fill_port(struct nat_change *change, const struct nat_desired_port *desired,
                     struct nat_port_change *port)
{
    static const uint64_t none[NAT_SETS];
    uint32_t counts[NAT_SETS];
    bool write[NAT_SETS], same[NAT_SETS];
    compare_slots(change->plane, desired, port->now.endpoints.items,
                  port->old ? port->old->sets : none, counts, same);
    for (int set = 0; set < NAT_SETS; set++) {
        write[set] = counts[set] && !same[set];
        if (counts[set] && same[set])
            port->now.sets[set] = port->old->sets[set];
        if (!write[set])
            continue;
        uint32_t first;
        int r = take(change, NAT_ID_SLOT, counts[set], &first);
        if (r < 0)
            return r;
        port->now.sets[set] = nat_set_of(first, counts[set]);
        change->slots.items[change->slots.count++] = port->now.sets[set];
    }
    write_members(change, desired, &port->now, write);
    write_port(change->plane, change->bank, desired->outcomes, &port->now);
    return 0;
}

static void add_to_filter(struct nat_change *change, const struct nat_installed_port *port)
{
    vec_each(const uint32_t, id, &port->endpoints) {
        const struct nat_endpoint_value *value = &change->plane->endpoints[*id];
        nat_filter_add(change->plane, &value->addr, value->port);
    }
}

int nat_bank_fill(struct nat_change *change)
{
    for (size_t i = 0; i < change->desired->ports.count; i++) {
        const struct nat_desired_port *desired = &change->desired->ports.items[i];
        struct nat_port_change *port = &change->ports.items[i];
        int r = begin_port(change, desired, port);
        if (r < 0)
            return r;
        r = match_endpoints(change, desired, port);
        if (r < 0)
            return r;
        add_to_filter(change, &port->now);
        r = fill_port(change, desired, port);
        if (r < 0)
            return r;
    }
    return 0;
}

static void end_endpoints(struct nat_change *change, const nat_id_list *ids)
{
    vec_each(const uint32_t, id, ids) {
        nat_word_set(&change->plane->endpoints[*id].state, 0);
        rest(change, NAT_ID_ENDPOINT, *id, 1);
    }
    change->plane->filter_litter |= ids->count > 0;
}

static void close_port(struct nat_change *change, uint32_t id)
{
    for (uint32_t bank = 0; bank < NAT_BANKS; bank++)
        nat_word_set(&nat_port_at(change->plane, id, bank)->owner, 0);
    rest(change, NAT_ID_PORT, id, 1);
}

void nat_bank_undo(struct nat_change *change)
{
    end_endpoints(change, &change->begun);
    vec_each(struct nat_port_change, port, &change->ports) {
        if (!port->old)
            close_port(change, port->now.id);
    }
    vec_each(const uint64_t, set, &change->slots)
        rest_slots(change, *set);
}

void nat_bank_settle(struct nat_change *change)
{
    struct nat_installed *installed = change->installed;
    vec_each(struct nat_installed_port, old, &installed->ports) {
        const struct nat_port_change *now = find_now(change, old);
        for (int set = 0; set < NAT_SETS; set++) {
            if (!now || now->now.sets[set] != old->sets[set])
                rest_slots(change, old->sets[set]);
        }
        if (now)
            continue;
        end_rest(change, old, 0);
        close_port(change, old->id);
    }
    end_endpoints(change, &change->ended);

    vec_each(struct nat_port_change, port, &change->ports) {
        change->ports_next.items[change->ports_next.count++] = port->now;
        port->now.endpoints.items = NULL;
    }
    vec_each(struct nat_installed_port, old, &installed->ports)
        vec_done(&old->endpoints);
    nat_installed_ports emptied = installed->ports;
    installed->ports = change->ports_next;
    change->ports_next = emptied;
}

/* True if the installed endpoints are those that serve, and their entries are as written. */
static bool endpoints_match(const struct nat_plane *plane, const struct nat_installed_port *port,
                            const struct nat_desired_port *desired)
{
    struct nat_union all = nat_union_of(desired->port);
    struct nat_endpoint endpoint;
    unsigned sets;
    size_t i = 0;
    for (; nat_union_next(&all, &endpoint, &sets); i++) {
        if (i == port->endpoints.count ||
            !nat_endpoint_lives(plane, port->endpoints.items[i], port->id))
            return false;
        const struct nat_endpoint_value *value = &plane->endpoints[port->endpoints.items[i]];
        struct nat_endpoint installed = nat_endpoint_of(plane, port->endpoints.items[i]);
        if (nat_endpoint_cmp(&installed, &endpoint) != 0 ||
            !(value->state & NAT_ENDPOINT_ON_NODE) == nat_is_local(plane, &endpoint.ip) ||
            !nat_filter_has(plane, &value->addr, value->port))
            return false;
    }
    return i == port->endpoints.count;
}

bool nat_bank_matches(const struct nat_plane *plane, const struct nat_installed *installed,
                      const struct nat_installed_port *port, const struct nat_desired_port *desired)
{
    uint32_t bank = nat_service_bank(plane, installed->id);
    const struct nat_port_value *value = nat_port_at(plane, port->id, bank);
    if (value->owner != port->owner || value->outcomes != desired->outcomes)
        return false;
    for (int set = 0; set < NAT_SETS; set++) {
        if (value->sets[set] != port->sets[set])
            return false;
    }
    if (!endpoints_match(plane, port, desired))
        return false;
    uint32_t counts[NAT_SETS];
    bool same[NAT_SETS];
    compare_slots(plane, desired, port->endpoints.items, port->sets, counts, same);
    return same[0] && same[1];
}
