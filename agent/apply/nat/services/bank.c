// SPDX-License-Identifier: Apache-2.0
/*
 * Ports, slots and endpoints of one Service: fills the idle bank, and cleans up after the switch or
 * instead of it. rows.c calls this in the course of a change.
 *
 * A set whose members did not change keeps its slots, and both banks refer to them. A set that
 * changed gets new slots; the old ones rest after the switch. Ports with equal sets refer to the
 * same slots. A new port id is written into both banks. In the one in force all its outcomes are
 * DROP, because entries of "frontends" with this id are written before the switch, and packets must
 * not be forwarded by them until then.
 *
 * An endpoint exists as long as it serves some port of the Service, whether or not it is in a set,
 * so that UDP flows to it continue; so no flows or affinity are lost when ports with the same
 * endpoints get different ones, or the reverse. (Where it continues to serve only other ports, the
 * sweep ends the flows of this one: flows.c.) Every endpoint gets a new generation; the word with
 * the last one is written before the endpoint, so that no crash makes a generation occur twice.
 *
 * The endpoints of the row and those of the installed Service are both sorted by address, so one
 * walk along both matches them. An installed id whose array entry was changed by another program
 * counts as gone.
 */
#include <arpa/inet.h>
#include <errno.h>

#include "apply/nat/maps/arrays.h"
#include "apply/nat/maps/local.h"
#include "apply/nat/services/bank.h"
#include "apply/nat/services/filter.h"

static void write_port(struct nat_datapath *datapath, uint32_t bank, uint64_t outcomes,
                       const struct nat_installed_port *port)
{
    struct nat_port_value *value = nat_port_at(datapath, port->id, bank);
    nat_word_set(&value->owner, port->owner);
    for (int set = 0; set < NAT_SETS; set++)
        nat_word_set(&value->sets[set], port->sets[set]);
    nat_word_set(&value->outcomes, outcomes);
}

static int take(struct nat_change *change, enum nat_id kind, uint32_t count, uint32_t *ret_first)
{
    const struct nat_part *part = &change->parts[kind];
    change->at = nat_share_map(kind);
    if (part->reserve && nat_ids_free(&change->datapath->ids, kind, change->now_ms) <
                             (uint64_t)space_block(count) + part->reserve)
        return part->over ? -EDQUOT : -ENOSPC;
    return nat_ids_take(&change->datapath->ids, kind, count, change->now_ms, ret_first);
}

static void rest(struct nat_change *change, enum nat_id kind, uint32_t first, uint32_t count)
{
    nat_ids_rest(&change->datapath->ids, kind, first, count, change->now_ms);
}

static void rest_slots(struct nat_change *change, uint64_t set)
{
    if ((uint32_t)set)
        rest(change, NAT_ID_SLOT, (uint32_t)(set >> 32), space_block((uint32_t)set));
}

/* The new state of an installed port; NULL: no port of the change has it so far. */
static struct nat_port_change *find_now(struct nat_change *change,
                                        const struct nat_installed_port *old)
{
    vec_each(struct nat_port_change, port, &change->ports) {
        if (port->old == old)
            return port;
    }
    return NULL;
}

/* An installed port of this owner that no port of the change has yet: a number may occur twice. */
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
            write_port(change->datapath, bank, NAT_OUTCOMES_NONE, &begun.now);
    }
    begun.now.endpoints = port->now.endpoints; /* the memory that nat_change_begin() reserved */
    *port = begun;
    change->ports.count++;
    return 0;
}

static int begin_endpoint(struct nat_change *change, const struct nat_stored *stored,
                          uint32_t *ret_id)
{
    struct nat_datapath *datapath = change->datapath;
    uint32_t id;
    int r = take(change, NAT_ID_ENDPOINT, 1, &id);
    if (r < 0)
        return r;
    uint32_t *last = &datapath->endpoints[0].addr.words[NAT_GENERATION_WORD];
    uint32_t generation = *last + 1 ? *last + 1 : 1;
    __atomic_store_n(last, generation, __ATOMIC_RELEASE);

    struct nat_endpoint_value *value = &datapath->endpoints[id];
    value->addr = nat_addr_of(&stored->endpoint.ip);
    value->port = htons(stored->endpoint.port);
    value->protocol = stored->protocol;
    value->owner = change->installed->id;
    bool local = nat_is_local(datapath, &stored->endpoint.ip);
    nat_word_set(&value->state, generation | (local ? NAT_ENDPOINT_ON_NODE : 0));
    change->begun.items[change->begun.count++] = id;
    *ret_id = id;
    return 0;
}

static void end_next(struct nat_change *change, size_t *at)
{
    change->ended.items[change->ended.count++] = change->installed->endpoints.items[(*at)++];
}

/*
 * Skips the installed endpoints from `*at` on that sort before `stored`; these are gone. True if
 * the next one is `stored` itself, and exists.
 */
static bool match(struct nat_change *change, size_t *at, const struct nat_stored *stored)
{
    const struct nat_installed *old = change->installed;
    while (*at < old->endpoints.count) {
        uint32_t id = old->endpoints.items[*at];
        bool lives = nat_endpoint_lives(change->datapath, id, old->id);
        struct nat_stored installed = nat_stored_of(change->datapath, id);
        int r = nat_stored_cmp(&installed, stored);
        if (lives && r == 0)
            return true;
        if (lives && r > 0)
            return false;
        end_next(change, at);
    }
    return false;
}

static int match_endpoints(struct nat_change *change)
{
    size_t at = 0;
    vec_each(const struct nat_stored, stored, &change->desired->endpoints) {
        uint32_t id;
        if (match(change, &at, stored)) {
            id = change->installed->endpoints.items[at++];
            nat_local_mark(change->datapath, id);
        } else {
            int r = begin_endpoint(change, stored, &id);
            if (r < 0)
                return r;
        }
        change->endpoints.items[change->endpoints.count++] = id;
        const struct nat_endpoint_value *value = &change->datapath->endpoints[id];
        nat_filter_add(change->datapath, &value->addr, value->port);
    }
    while (at < change->installed->endpoints.count)
        end_next(change, &at);
    return 0;
}

/* The wanted slots of a set, in the order in which the programs search them. */
static void gather_words(struct nat_change *change, const nat_place_list *places)
{
    vec_clear(&change->words);
    vec_each(const uint32_t, place, places)
        change->words.items[change->words.count++] =
            nat_slot_of(change->datapath, change->endpoints.items[*place]);
    vec_sort(&change->words, nat_word_cmp);
}

static bool has_words(const struct nat_datapath *datapath, uint64_t set, const nat_word_list *words)
{
    uint32_t count;
    const __u64 *slots = nat_set_slots(datapath, set, &count);
    return count == words->count && memcmp(slots, words->items, count * sizeof(*slots)) == 0;
}

/* `old`: the previous word of the set. */
static int fill_set(struct nat_change *change, const nat_place_list *places, uint64_t old,
                    uint64_t *ret_set)
{
    *ret_set = 0;
    if (places->count == 0)
        return 0;
    gather_words(change, places);
    if (has_words(change->datapath, old, &change->words)) {
        *ret_set = old;
        return 0;
    }
    uint32_t first, count = (uint32_t)places->count;
    int r = take(change, NAT_ID_SLOT, count, &first);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < count; i++)
        nat_word_set(&change->datapath->slots[first + i], change->words.items[i]);
    *ret_set = nat_set_of(first, count);
    change->slots.items[change->slots.count++] = *ret_set;
    return 0;
}

static void list_serving(const nat_id_list *endpoints, const struct nat_desired_port *desired,
                         nat_id_list *ids)
{
    vec_each(const uint32_t, place, &desired->serving)
        ids->items[ids->count++] = endpoints->items[*place];
    vec_sort(ids, nat_id_cmp);
}

static int fill_port(struct nat_change *change, size_t i)
{
    const struct nat_desired_port *desired = &change->desired->ports.items[i];
    struct nat_port_change *port = &change->ports.items[i];
    list_serving(&change->endpoints, desired, &port->now.endpoints);
    for (int set = 0; set < NAT_SETS; set++) {
        uint64_t *word = &port->now.sets[set];
        int r = 0;
        if (desired->like[set] < i)
            *word = change->ports.items[desired->like[set]].now.sets[set];
        else
            r = fill_set(change, &desired->sets[set], port->old ? port->old->sets[set] : 0, word);
        if (r < 0)
            return r;
    }
    write_port(change->datapath, change->bank, desired->outcomes, &port->now);
    return 0;
}

int nat_bank_fill(struct nat_change *change)
{
    int r = match_endpoints(change);
    if (r < 0)
        return r;
    for (size_t i = 0; i < change->desired->ports.count; i++) {
        r = begin_port(change, &change->desired->ports.items[i], &change->ports.items[i]);
        if (r < 0)
            return r;
        r = fill_port(change, i);
        if (r < 0)
            return r;
    }
    return 0;
}

static void end_endpoints(struct nat_change *change, const nat_id_list *ids)
{
    vec_each(const uint32_t, id, ids) {
        nat_word_set(&change->datapath->endpoints[*id].state, 0);
        rest(change, NAT_ID_ENDPOINT, *id, 1);
    }
    change->datapath->filter_litter |= ids->count > 0;
}

static void close_port(struct nat_change *change, uint32_t id)
{
    for (uint32_t bank = 0; bank < NAT_BANKS; bank++)
        nat_word_set(&nat_port_at(change->datapath, id, bank)->owner, 0);
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

/* Lists the slots that the Service has from now on, and puts its previous ones to rest. */
static void settle_slots(struct nat_change *change)
{
    nat_word_list *sets = &change->sets;
    vec_each(const struct nat_port_change, port, &change->ports) {
        for (int set = 0; set < NAT_SETS; set++) {
            if ((uint32_t)port->now.sets[set])
                sets->items[sets->count++] = port->now.sets[set];
        }
    }
    vec_sort(sets, nat_word_cmp);
    vec_drop_equal(sets, nat_word_cmp);
    vec_each(const uint64_t, set, &change->installed->sets) {
        if (!vec_find(sets, set, nat_word_cmp))
            rest_slots(change, *set);
    }
}

#define SWAP(a, b)                 \
    do {                           \
        __typeof__(a) swap_ = (a); \
        (a) = (b);                 \
        (b) = swap_;               \
    } while (0)

void nat_bank_settle(struct nat_change *change)
{
    struct nat_installed *installed = change->installed;
    settle_slots(change);
    vec_each(struct nat_installed_port, old, &installed->ports) {
        if (!find_now(change, old))
            close_port(change, old->id);
    }
    end_endpoints(change, &change->ended);

    vec_each(struct nat_port_change, port, &change->ports) {
        change->ports_next.items[change->ports_next.count++] = port->now;
        port->now.endpoints.items = NULL;
    }
    vec_each(struct nat_installed_port, old, &installed->ports)
        vec_done(&old->endpoints);
    SWAP(installed->ports, change->ports_next);
    SWAP(installed->endpoints, change->endpoints);
    SWAP(installed->sets, change->sets);
    installed->known = true;
}

/* True if the installed endpoints are those that serve, and their entries are as written. */
static bool endpoints_match(const struct nat_datapath *datapath,
                            const struct nat_installed *installed,
                            const struct nat_desired *desired)
{
    if (installed->endpoints.count != desired->endpoints.count)
        return false;
    for (size_t i = 0; i < desired->endpoints.count; i++) {
        const struct nat_stored *wanted = &desired->endpoints.items[i];
        uint32_t id = installed->endpoints.items[i];
        if (!nat_endpoint_lives(datapath, id, installed->id))
            return false;
        const struct nat_endpoint_value *value = &datapath->endpoints[id];
        struct nat_stored is = nat_stored_of(datapath, id);
        if (nat_stored_cmp(&is, wanted) != 0 ||
            !(value->state & NAT_ENDPOINT_ON_NODE) ==
                nat_is_local(datapath, &wanted->endpoint.ip) ||
            !nat_filter_has(datapath, &value->addr, value->port))
            return false;
    }
    return true;
}

/* True if the slots are in rising order, and refer to exactly these endpoints. */
static bool set_matches(const struct nat_datapath *datapath, const struct nat_installed *installed,
                        uint64_t set, const nat_place_list *places)
{
    uint32_t count;
    const __u64 *slots = nat_set_slots(datapath, set, &count);
    if (count != places->count)
        return false;
    for (uint32_t i = 1; i < count; i++) {
        if (slots[i - 1] >= slots[i])
            return false;
    }
    vec_each(const uint32_t, place, places) {
        uint64_t word = nat_slot_of(datapath, installed->endpoints.items[*place]);
        if (!bsearch(&word, slots, count, sizeof(word), nat_word_cmp))
            return false;
    }
    return true;
}

static bool port_matches(const struct nat_datapath *datapath, const struct nat_installed *installed,
                         const struct nat_desired *desired, size_t i)
{
    const struct nat_desired_port *wanted = &desired->ports.items[i];
    const struct nat_installed_port *port = &installed->ports.items[i];
    const struct nat_port_value *value =
        nat_port_at(datapath, port->id, nat_service_bank(datapath, installed->id));
    if (port->owner != ((uint64_t)installed->id << 32 | wanted->owner) ||
        value->owner != port->owner || value->outcomes != wanted->outcomes)
        return false;
    for (int set = 0; set < NAT_SETS; set++) {
        size_t like = wanted->like[set];
        if (value->sets[set] != port->sets[set] ||
            port->sets[set] != installed->ports.items[like].sets[set] ||
            (like == i && !set_matches(datapath, installed, port->sets[set], &wanted->sets[set])))
            return false;
    }
    return true;
}

bool nat_bank_matches(const struct nat_datapath *datapath, const struct nat_installed *installed,
                      const struct nat_desired *desired)
{
    if (installed->ports.count != desired->ports.count ||
        !endpoints_match(datapath, installed, desired))
        return false;
    for (size_t i = 0; i < desired->ports.count; i++) {
        if (!port_matches(datapath, installed, desired, i))
            return false;
    }
    return true;
}

int nat_bank_learn(struct nat_installed *installed, const struct nat_desired *desired)
{
    for (size_t i = 0; !installed->known && i < desired->ports.count; i++) {
        nat_id_list *ids = &installed->ports.items[i].endpoints;
        vec_clear(ids);
        if (vec_reserve(ids, desired->ports.items[i].serving.count) < 0)
            return -ENOMEM;
        list_serving(&installed->endpoints, &desired->ports.items[i], ids);
    }
    installed->known = true;
    return 0;
}
