// SPDX-License-Identifier: Apache-2.0
/*
 * Builds the memory of installed Services from the maps, when the datapath is opened: after a stop,
 * a crash, or a change of sizes.
 *
 * A Service is adopted if it has a name and a service word. Its entries are those with its id. A
 * port belongs to it if one of its entries refers to the port, an endpoint if it exists and has its
 * id, a slot if the bank in force of such a port refers to it. Everything else was left by a write
 * or a removal that was interrupted: it is removed, and its ids are free.
 *
 * The maps do not record which endpoints serve which port: bank.c learns that with the first write.
 *
 * A free id whose array entry looks used rests before it is allocated: the agent that stopped may
 * have released it a moment ago.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/maps/arrays.h"
#include "apply/nat/maps/table.h"
#include "apply/nat/services/adopt.h"
#include "apply/nat/services/filter.h"
#include "base/clock.h"
#include "base/macro.h"

typedef VEC(struct nat_installed *) installed_list;

/* True for "namespace/name" that is terminated within its memory. */
static bool is_name(const char *name)
{
    const char *slash = memchr(name, '/', NAT_NAME_MAX);
    return slash && slash > name && memchr(slash, '\0', (size_t)(name + NAT_NAME_MAX - slash)) &&
           slash[1] != '\0';
}

/* Adopts one entry, or removes it. Returns 0 or -errno. */
typedef int (*adopt_fn)(struct nat_datapath *datapath, const void *key, const void *value);

static int adopt_table(struct nat_datapath *datapath, enum nat_map_index map, adopt_fn adopt)
{
    AUTOWALK struct nat_walk walk;
    nat_table_walk(datapath, map, &walk);
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            r = adopt(datapath, nat_walk_key(&walk, i), nat_walk_value(&walk, i));
            if (r < 0)
                return r;
        }
    }
    return r;
}

static int adopt_name(struct nat_datapath *datapath, uint32_t id, const char *name,
                      installed_list *ret_services)
{
    if (id == 0 || id >= datapath->maps[NAT_MAP_SERVICES].entries || !is_name(name) ||
        !(datapath->services[id] & NAT_SERVICE_USED))
        return nat_table_remove(datapath, NAT_MAP_NAMES, &id);

    CLEANUP(nat_installed_freep) struct nat_installed *installed = nat_installed_new(name);
    if (!installed)
        return -ENOMEM;
    installed->id = id;
    int r = vec_push(ret_services, installed);
    if (r < 0)
        return r;
    (void)TAKE_PTR(installed);
    return 0;
}

static int read_names(struct nat_datapath *datapath, installed_list *ret_services)
{
    AUTOWALK struct nat_walk walk;
    nat_table_walk(datapath, NAT_MAP_NAMES, &walk);
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            r = adopt_name(datapath, *(uint32_t *)nat_walk_key(&walk, i), nat_walk_value(&walk, i),
                           ret_services);
            if (r < 0)
                return r;
        }
    }
    return r;
}

/* With the Services that are still in the list: the datapath owns those that were installed. */
static void installed_list_done(installed_list *services)
{
    vec_each(struct nat_installed *, installed, services)
        nat_installed_free(*installed);
    vec_done(services);
}

/* Installs one Service of the list; from then on the datapath owns it. */
static int enter(struct nat_datapath *datapath, struct nat_installed **installed)
{
    int r = sorted_put(&datapath->installed, installed);
    if (r < 0)
        return r;
    struct nat_installed *entered = TAKE_PTR(*installed);
    (void)space_claim(&datapath->ids.spaces[NAT_ID_SERVICE], entered->id, 1);
    datapath->by_id[entered->id] = entered;
    return 0;
}

/* Two Services have the same name only if another program wrote one of them; one of the two is
 * removed. */
static int adopt_names(struct nat_datapath *datapath)
{
    CLEANUP(installed_list_done) installed_list services = { 0 };
    int r = read_names(datapath, &services);
    if (r < 0)
        return r;
    vec_sort(&services, nat_installed_cmp);
    vec_each(struct nat_installed *, installed, &services) {
        bool again = nat_installed_find(datapath, (*installed)->name) != NULL;
        r = again ? nat_table_remove(datapath, NAT_MAP_NAMES, &(*installed)->id)
                  : enter(datapath, installed);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Ends service words without a name: no row can ever name such a Service. */
static void drop_nameless(struct nat_datapath *datapath)
{
    for (uint32_t id = 1; id < datapath->maps[NAT_MAP_SERVICES].entries; id++) {
        if (datapath->services[id] && !datapath->by_id[id])
            nat_word_set(&datapath->services[id], 0);
    }
}

static struct nat_installed_port *find_port(struct nat_installed *installed, uint32_t id)
{
    vec_each(struct nat_installed_port, port, &installed->ports) {
        if (port->id == id)
            return port;
    }
    return NULL;
}

/* Assigns the port of an entry to its Service. Returns 1, 0 (the port is another's), or -ENOMEM. */
static int adopt_port(struct nat_datapath *datapath, struct nat_installed *installed, uint32_t id)
{
    if (id == 0 || find_port(installed, id))
        return 1;
    if (id >= nat_port_limit(datapath))
        return 0;
    const struct nat_port_value *value =
        nat_port_at(datapath, id, nat_service_bank(datapath, installed->id));
    if (value->owner >> 32 != installed->id ||
        !space_claim(&datapath->ids.spaces[NAT_ID_PORT], id, 1))
        return 0;
    int r =
        vec_push(&installed->ports, (struct nat_installed_port){ .id = id, .owner = value->owner });
    return r < 0 ? r : 1;
}

static int on_entry(struct nat_datapath *datapath, const void *key, const void *value)
{
    struct nat_entry entry = { 0 };
    struct nat_frontend_value is;
    memcpy(&entry.key, key, sizeof(entry.key));
    memcpy(&is, value, sizeof(is));
    struct nat_installed *installed = nat_installed_by_id(datapath, is.service);
    bool ours = installed && is.check == nat_frontend_check(&entry.key);
    int r = ours ? adopt_port(datapath, installed, is.port) : 0;
    if (r < 0)
        return r;
    if (r == 0)
        return nat_table_remove(datapath, NAT_MAP_FRONTENDS, key);
    entry.port = is.port;
    entry.kind = is.kind;
    return vec_push(&installed->entries, entry);
}

static int compare_installed_ports(const void *a, const void *b)
{
    const struct nat_installed_port *left = a, *right = b;
    int r = CMP(left->owner, right->owner);
    return r ? r : CMP(left->id, right->id);
}

static void claim_slots(struct nat_datapath *datapath, struct nat_installed *installed)
{
    nat_word_list *sets = &installed->sets;
    size_t kept = 0;
    vec_sort(sets, nat_word_cmp);
    vec_drop_equal(sets, nat_word_cmp);
    vec_each(const uint64_t, set, sets) {
        uint32_t first = (uint32_t)(*set >> 32), count = (uint32_t)*set;
        if (space_claim(&datapath->ids.spaces[NAT_ID_SLOT], first, count))
            sets->items[kept++] = *set;
    }
    sets->count = kept;
}

/*
 * Adopts the slots of the bank in force. A set that can't be valid is left out of the memory; the
 * next write then finds that the live word differs, and writes the set again.
 */
static int adopt_slots(struct nat_datapath *datapath, struct nat_installed *installed)
{
    uint32_t bank = nat_service_bank(datapath, installed->id);
    if (vec_reserve(&installed->sets, NAT_SETS * installed->ports.count) < 0)
        return -ENOMEM;
    vec_each(const struct nat_installed_port, port, &installed->ports) {
        for (int set = 0; set < NAT_SETS; set++) {
            uint64_t word = nat_port_at(datapath, port->id, bank)->sets[set];
            if ((uint32_t)word)
                installed->sets.items[installed->sets.count++] = word;
        }
    }
    claim_slots(datapath, installed);
    vec_each(struct nat_installed_port, port, &installed->ports) {
        for (int set = 0; set < NAT_SETS; set++) {
            uint64_t word = nat_port_at(datapath, port->id, bank)->sets[set];
            port->sets[set] = vec_find(&installed->sets, &word, nat_word_cmp) ? word : 0;
        }
    }
    return 0;
}

/*
 * The Service for which an endpoint was made; NULL: it is gone. Endpoints of an older agent, which
 * name a port, serve until the next write, which replaces them.
 */
static struct nat_installed *find_maker(const struct nat_datapath *datapath,
                                        const struct nat_endpoint_value *value)
{
    if (value->protocol)
        return nat_installed_by_id(datapath, value->owner);
    if (value->owner >= nat_port_limit(datapath))
        return NULL;
    return nat_installed_by_id(datapath,
                               (uint32_t)(nat_port_at(datapath, value->owner, 0)->owner >> 32));
}

static int adopt_endpoints(struct nat_datapath *datapath)
{
    uint32_t *last = &datapath->endpoints[0].addr.words[NAT_GENERATION_WORD];
    for (uint32_t id = 1; id < datapath->maps[NAT_MAP_ENDPOINTS].entries; id++) {
        const struct nat_endpoint_value *value = &datapath->endpoints[id];
        uint32_t generation = (uint32_t)(value->state & NAT_ENDPOINT_GENERATION);
        if (generation == 0)
            continue;
        *last = MAX(*last, generation);
        struct nat_installed *installed = find_maker(datapath, value);
        if (!installed) {
            nat_word_set(&datapath->endpoints[id].state, 0);
            continue;
        }
        int r = vec_push(&installed->endpoints, id);
        if (r < 0)
            return r;
        (void)space_claim(&datapath->ids.spaces[NAT_ID_ENDPOINT], id, 1);
    }
    return 0;
}

static int compare_endpoint_ids(const void *a, const void *b, void *context)
{
    struct nat_stored left = nat_stored_of(context, *(const uint32_t *)a);
    struct nat_stored right = nat_stored_of(context, *(const uint32_t *)b);
    return nat_stored_cmp(&left, &right);
}

static int finish_service(struct nat_datapath *datapath, struct nat_installed *installed)
{
    vec_sort(&installed->entries, nat_entry_cmp);
    vec_sort(&installed->ports, compare_installed_ports);
    for (int bank = 0; bank < NAT_BANKS; bank++)
        vec_sort(&installed->ranges[bank], nat_range_cmp);
    vec_each(const struct nat_entry, entry, &installed->entries)
        nat_filter_add_entry(datapath, entry);
    if (installed->endpoints.count > 1)
        qsort_r(installed->endpoints.items, installed->endpoints.count, sizeof(uint32_t),
                compare_endpoint_ids, datapath);
    vec_each(const uint32_t, id, &installed->endpoints)
        nat_filter_add(datapath, &datapath->endpoints[*id].addr, datapath->endpoints[*id].port);
    return adopt_slots(datapath, installed);
}

typedef VEC(struct nat_range_key) range_key_list;

/* A range of no Service is added to `nobodys`. */
static int adopt_range(struct nat_datapath *datapath, const void *source, range_key_list *nobodys)
{
    struct nat_range_key key;
    memcpy(&key, source, sizeof(key));
    uint32_t owner = ntohl(key.owner);
    struct nat_installed *installed = nat_installed_by_id(datapath, owner >> 1);
    if (!installed)
        return vec_push(nobodys, key);
    key.owner = 0;
    return vec_push(&installed->ranges[owner & 1], key);
}

static int read_ranges(struct nat_datapath *datapath, range_key_list *nobodys)
{
    AUTOWALK struct nat_walk walk;
    nat_table_walk(datapath, NAT_MAP_RANGES, &walk);
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            r = adopt_range(datapath, nat_walk_key(&walk, i), nobodys);
            if (r < 0)
                return r;
        }
    }
    return r;
}

/* A trie must not change while it is walked, so ranges of no Service are removed afterwards. */
static int adopt_ranges(struct nat_datapath *datapath)
{
    AUTOVEC range_key_list nobodys = { 0 };
    int r = read_ranges(datapath, &nobodys);
    if (r < 0)
        return r;
    vec_each(const struct nat_range_key, key, &nobodys) {
        r = nat_table_remove(datapath, NAT_MAP_RANGES, key);
        if (r < 0)
            return r;
    }
    return 0;
}

static int on_refusal(struct nat_datapath *datapath, const void *key, const void *value)
{
    (void)value;
    const struct nat_refusal_key *refusal = key;
    if (refusal->service == 0 || nat_installed_by_id(datapath, refusal->service))
        return 0;
    return nat_table_remove(datapath, NAT_MAP_REFUSALS, key);
}

/*
 * True if an id may have been in use a moment ago. The word of a service is cleared when it ends,
 * so all service ids below the highest one in use count.
 */
static bool looks_used(const struct nat_datapath *datapath, enum nat_id kind, uint32_t id,
                       uint32_t services)
{
    if (kind == NAT_ID_SERVICE)
        return id < services;
    if (kind == NAT_ID_ENDPOINT)
        return datapath->endpoints[id].owner != 0;
    if (kind == NAT_ID_SLOT)
        return datapath->slots[id] != 0;
    return nat_port_at(datapath, id, 0)->outcomes || nat_port_at(datapath, id, 1)->outcomes;
}

static uint32_t services_end(const struct nat_datapath *datapath)
{
    uint32_t end = datapath->maps[NAT_MAP_SERVICES].entries;
    while (end > 0 && !datapath->by_id[end - 1])
        end--;
    return end;
}

/* Starts the rest of free ids that look used, in whole ranges. */
static int rest_used(struct nat_datapath *datapath, enum nat_id kind, int64_t now_ms)
{
    struct space *space = &datapath->ids.spaces[kind];
    uint32_t count = 0, services = services_end(datapath);
    for (uint32_t id = 0; id <= space->limit; id++) {
        bool rests = id < space->limit && looks_used(datapath, kind, id, services) &&
                     space_claim(space, id, 1);
        if (!rests && count) {
            int r = nat_ids_reserve(&datapath->ids, 1);
            if (r < 0)
                return r;
            nat_ids_rest(&datapath->ids, kind, id - count, count, now_ms);
        }
        count = rests ? count + 1 : 0;
    }
    return 0;
}

void nat_forget(struct nat_datapath *datapath)
{
    sorted_each(struct nat_installed *, installed, &datapath->installed)
        nat_installed_free(*installed);
    sorted_done(&datapath->installed);
    free(datapath->by_id);
    datapath->by_id = NULL;
    nat_ids_done(&datapath->ids);
}

static int begin(struct nat_datapath *datapath)
{
    uint32_t limits[NAT_ID_KINDS] = {
        [NAT_ID_SERVICE] = datapath->maps[NAT_MAP_SERVICES].entries,
        [NAT_ID_PORT] = nat_port_limit(datapath),
        [NAT_ID_ENDPOINT] = datapath->maps[NAT_MAP_ENDPOINTS].entries,
        [NAT_ID_SLOT] = datapath->maps[NAT_MAP_SLOTS].entries,
    };
    if (datapath->control->filter_half > 1)
        datapath->control->filter_half = 0;
    datapath->installed = (struct sorted)SORTED(struct nat_installed *, nat_installed_cmp);
    datapath->by_id = calloc(limits[NAT_ID_SERVICE], sizeof(*datapath->by_id));
    return datapath->by_id ? nat_ids_init(&datapath->ids, limits) : -ENOMEM;
}

static int adopt_services(struct nat_datapath *datapath)
{
    int r = adopt_names(datapath);
    if (r < 0)
        return r;
    drop_nameless(datapath);
    r = adopt_table(datapath, NAT_MAP_FRONTENDS, on_entry);
    if (r < 0)
        return r;
    r = adopt_endpoints(datapath);
    if (r < 0)
        return r;
    r = adopt_ranges(datapath);
    if (r < 0)
        return r;
    return adopt_table(datapath, NAT_MAP_REFUSALS, on_refusal);
}

/* A filter that is new or replaced has none of the installed entries. */
static bool filter_is_fresh(const struct nat_datapath *datapath)
{
    const struct nat_map *filter = &datapath->maps[NAT_MAP_FILTER];
    return !filter->pinned || datapath->control->filter_words != nat_filter_words(datapath);
}

int nat_adopt(struct nat_datapath *datapath)
{
    int r = begin(datapath);
    if (r < 0)
        return r;
    r = adopt_services(datapath);
    if (r < 0)
        return r;
    bool fresh = filter_is_fresh(datapath);
    sorted_each(struct nat_installed *, installed, &datapath->installed) {
        r = finish_service(datapath, *installed);
        if (r < 0)
            return r;
    }
    if (fresh) {
        r = nat_filter_begin(datapath);
        if (r < 0)
            return r;
    }
    datapath->filter_litter = true; /* it may have some: that is not recorded */
    int64_t now_ms = clock_mono_ms();
    for (int kind = 0; kind < NAT_ID_KINDS; kind++) {
        r = rest_used(datapath, kind, now_ms);
        if (r < 0)
            return r;
    }
    return 0;
}
