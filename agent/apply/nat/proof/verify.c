// SPDX-License-Identifier: Apache-2.0
/*
 * Compares the live maps with the rows, without using the agent's memory.
 *
 * Only the id of a name is taken from memory. From there the comparison follows the path of a
 * packet: from the entries to ports, slots and endpoints. Then it searches the maps for everything
 * else that could redirect packets: entries, ranges, endpoints and names that no row wants.
 *
 * A Service that differs is doubted, so that its next write reads the maps. The NAT engine calls
 * this from time to time, and for `agentctl verify`.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/maps/arrays.h"
#include "apply/nat/maps/local.h"
#include "apply/nat/maps/table.h"
#include "apply/nat/services/filter.h"
#include "apply/nat/services/ranges.h"
#include "apply/nat/services/rows.h"
#include "apply/nat/services/unowned.h"

struct check {
    struct nat_datapath *datapath;
    nat_difference_list *list;
    int error;
    const char *service; /* the name with which a difference is reported, or "" */
    struct nat_installed *installed;
    const struct nat_desired *desired;
    nat_id_list ports; /* live ids, one for each port of the desired; 0: unknown */
    /* Of all rows: */
    VEC(struct nat_frontend_key) entries;
    nat_range_list ranges;
};

PRINTF_LIKE(2, 3) static void differ(struct check *check, const char *format, ...)
{
    AUTOTEXT struct text text = { 0 };
    va_list args;
    va_start(args, format);
    text_vaddf(&text, format, args);
    va_end(args);
    struct nat_difference difference = { strdup(check->service), text_take(&text) };
    if (!difference.service || !difference.text || vec_push(check->list, difference) < 0) {
        free(difference.service);
        free(difference.text);
        check->error = -ENOMEM;
    }
    if (check->installed)
        check->installed->doubted = true;
}

static void check_word(struct check *check)
{
    uint64_t word = check->datapath->services[check->installed->id], wanted = check->desired->flags;
    const uint64_t ranges = NAT_SERVICE_RANGES_V4 | NAT_SERVICE_RANGES_V6;
    if (!(word & NAT_SERVICE_USED))
        differ(check, "the service word is missing");
    if ((word ^ wanted) & ranges)
        differ(check, "source ranges are switched otherwise: flags %#llx, not %#llx",
               (unsigned long long)(word & ranges), (unsigned long long)(wanted & ranges));
    uint32_t affinity = (uint32_t)(word >> NAT_SERVICE_AFFINITY_SHIFT & 0xffffff);
    uint32_t wanted_affinity = (uint32_t)(wanted >> NAT_SERVICE_AFFINITY_SHIFT & 0xffffff);
    if (affinity != wanted_affinity)
        differ(check, "affinity is %u s, not %u s", affinity, wanted_affinity);
    char name[NAT_NAME_MAX];
    if (nat_datapath_name(check->datapath, check->installed->id, name) < 0 ||
        strcmp(name, check->service))
        differ(check, "its name is missing");
}

static void check_entry(struct check *check, const struct nat_entry *wanted)
{
    char key[NAT_KEY_STRLEN];
    struct nat_frontend_value value;
    int r = nat_table_get(check->datapath, NAT_MAP_FRONTENDS, &wanted->key, &value);
    (void)nat_key_str(&wanted->key, key);
    if (!nat_filter_has_entry(check->datapath, wanted))
        differ(check, "frontend %s is not in the filter", key);
    if (r < 0) {
        differ(check, "frontend %s is missing", key);
        return;
    }
    if (value.service != check->installed->id) {
        differ(check, "frontend %s is another Service's", key);
        return;
    }
    if (value.kind != wanted->kind)
        differ(check, "frontend %s is of kind %u, not %u", key, value.kind, wanted->kind);
    if (value.check != nat_frontend_check(&wanted->key))
        differ(check, "frontend %s does not carry its check", key);
    uint32_t *port = wanted->port ? &check->ports.items[wanted->port - 1] : NULL;
    if (port && *port == 0)
        *port = value.port;
    if (value.port != (port ? *port : 0))
        differ(check, "frontend %s leads to a port of its own", key);
}

static const char *set_name(unsigned set)
{
    return set == NAT_SET_CLUSTER ? "cluster" : "local";
}

static const char *endpoint_str(const struct nat_endpoint *endpoint,
                                char buffer[static NAT_KEY_STRLEN])
{
    char address[IP_STRLEN];
    (void)snprintf(buffer, NAT_KEY_STRLEN, endpoint->ip.family == IP_V6 ? "[%s]:%u" : "%s:%u",
                   ip_str(&endpoint->ip, address), endpoint->port);
    return buffer;
}

static void check_endpoint(struct check *check, uint32_t id, const struct nat_endpoint *wanted)
{
    const struct nat_endpoint_value *value = &check->datapath->endpoints[id];
    char where[NAT_KEY_STRLEN];
    (void)endpoint_str(wanted, where);
    if (!(value->state & NAT_ENDPOINT_ON_NODE) == nat_is_local(check->datapath, &wanted->ip))
        differ(check, "endpoint %s carries wrongly whether it is on this node", where);
    if (!nat_filter_has(check->datapath, &value->addr, value->port))
        differ(check, "endpoint %s is not in the filter", where);
}

/* The endpoint of the list to which a slot refers; NULL: none of them. */
static const struct nat_endpoint *find_wanted(const struct check *check,
                                              const struct nat_desired_port *wanted, unsigned set,
                                              uint64_t slot)
{
    uint32_t id = (uint32_t)(slot >> 32);
    if (!nat_endpoint_lives(check->datapath, id, check->installed->id) ||
        nat_slot_of(check->datapath, id) != slot)
        return NULL;
    struct nat_stored is = nat_stored_of(check->datapath, id);
    if (is.protocol != wanted->port->protocol)
        return NULL;
    return vec_find(&wanted->port->sets[set], &is.endpoint, nat_endpoint_cmp);
}

/* Slots in rising order refer to different endpoints, so if their number is right, all wanted
 * ones are there. */
static void check_set(struct check *check, const struct nat_desired_port *wanted, uint32_t port,
                      unsigned set)
{
    const struct nat_port_value *value =
        nat_port_at(check->datapath, port, nat_service_bank(check->datapath, check->installed->id));
    const nat_endpoint_list *list = &wanted->port->sets[set];
    uint32_t count;
    const __u64 *slots = nat_set_slots(check->datapath, value->sets[set], &count);
    if (count != list->count) {
        differ(check, "port %u/%s has %u endpoints in the %s set, not %zu", wanted->port->port,
               protocol_name(wanted->port->protocol), count, set_name(set), list->count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct nat_endpoint *endpoint = find_wanted(check, wanted, set, slots[i]);
        if (endpoint && (i == 0 || slots[i - 1] < slots[i]))
            check_endpoint(check, (uint32_t)(slots[i] >> 32), endpoint);
        else
            differ(check, "port %u/%s has no endpoint of the %s set at place %u of it",
                   wanted->port->port, protocol_name(wanted->port->protocol), set_name(set), i + 1);
    }
}

static void check_port(struct check *check, const struct nat_desired_port *wanted, uint32_t port)
{
    const char *protocol = protocol_name(wanted->port->protocol);
    if (port == 0 || port >= nat_port_limit(check->datapath)) {
        differ(check, "port %u/%s is missing", wanted->port->port, protocol);
        return;
    }
    const struct nat_port_value *value =
        nat_port_at(check->datapath, port, nat_service_bank(check->datapath, check->installed->id));
    if (value->owner != ((uint64_t)check->installed->id << 32 | wanted->owner))
        differ(check, "port %u/%s carries another owner", wanted->port->port, protocol);
    if (value->outcomes != wanted->outcomes)
        differ(check, "port %u/%s has outcomes %#llx, not %#llx", wanted->port->port, protocol,
               (unsigned long long)value->outcomes, (unsigned long long)wanted->outcomes);
    for (unsigned set = 0; set < NAT_SETS; set++)
        check_set(check, wanted, port, set);
}

static void check_ranges(struct check *check)
{
    uint32_t bank = nat_service_bank(check->datapath, check->installed->id);
    vec_each(const struct nat_range_key, range, &check->desired->ranges) {
        if (!nat_range_is_there(check->datapath, range, check->installed->id, bank))
            differ(check, "a source range is missing");
        struct nat_range_key key = nat_range_key_of(range, check->installed->id, bank);
        if (vec_push(&check->ranges, key) < 0)
            check->error = -ENOMEM;
    }
}

static void check_desired(struct check *check)
{
    size_t before = check->list->count;
    check->installed = nat_installed_find(check->datapath, check->service);
    if (!check->installed) {
        differ(check, "the Service is not in the maps");
        return;
    }
    check_word(check);
    vec_clear(&check->ports);
    check->error = vec_reserve(&check->ports, check->desired->ports.count);
    if (check->error < 0)
        return;
    for (size_t i = 0; i < check->desired->ports.count; i++)
        check->ports.items[check->ports.count++] = 0;
    vec_each(const struct nat_entry, entry, &check->desired->entries) {
        check_entry(check, entry);
        if (vec_push(&check->entries, entry->key) < 0)
            check->error = -ENOMEM;
    }
    for (size_t i = 0; i < check->desired->ports.count; i++)
        check_port(check, &check->desired->ports.items[i], check->ports.items[i]);
    check_ranges(check);
    if (check->list->count == before &&
        !nat_row_matches(check->datapath, check->installed, check->desired))
        differ(check, "an endpoint outside of all sets is not as it was written");
}

static void check_row(struct check *check, const struct nat_row *row)
{
    AUTOWISH struct nat_desired desired;
    int r = nat_desired_make(row, &desired);
    if (r < 0) {
        check->error = r;
        return;
    }
    check->desired = &desired;
    check->service = desired.name;
    check_desired(check);
    check->desired = NULL;
    check->service = "";
    check->installed = NULL;
}

static int compare_keys(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct nat_frontend_key));
}

/* From now on differences are reported for this Service; NULL: for none. */
static void about(struct check *check, struct nat_installed *installed)
{
    check->installed = installed;
    check->service = installed ? installed->name : "";
}

/* Has an entry that no row wants removed: by its Service's next write, or by the next sweep. */
static void keep_unowned(struct check *check, const struct nat_frontend_key *key,
                         const struct nat_frontend_value *value)
{
    struct nat_entry entry = { .key = *key, .port = value->port, .kind = value->kind };
    nat_entry_list *list =
        check->installed ? &check->installed->entries : &check->datapath->unowned;
    if (nat_unowned_keep(list, &entry) < 0)
        check->error = -ENOMEM;
}

static int look_for_entries(struct check *check)
{
    AUTOWALK struct nat_walk walk;
    nat_table_walk(check->datapath, NAT_MAP_FRONTENDS, &walk);
    vec_sort(&check->entries, compare_keys);
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            struct nat_frontend_key key;
            struct nat_frontend_value value;
            memcpy(&key, nat_walk_key(&walk, i), sizeof(key));
            memcpy(&value, nat_walk_value(&walk, i), sizeof(value));
            if (vec_find(&check->entries, &key, compare_keys))
                continue;
            char text[NAT_KEY_STRLEN];
            about(check, nat_installed_by_id(check->datapath, value.service));
            differ(check, "frontend %s is there, and nothing asks for it", nat_key_str(&key, text));
            keep_unowned(check, &key, &value);
        }
    }
    return r;
}

static int look_for_ranges(struct check *check)
{
    AUTOWALK struct nat_walk walk;
    nat_table_walk(check->datapath, NAT_MAP_RANGES, &walk);
    vec_sort(&check->ranges, nat_range_cmp);
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            struct nat_range_key key;
            memcpy(&key, nat_walk_key(&walk, i), sizeof(key));
            struct nat_installed *installed =
                nat_installed_by_id(check->datapath, ntohl(key.owner) >> 1);
            bool idle = installed &&
                        (ntohl(key.owner) & 1) != nat_service_bank(check->datapath, installed->id);
            if (idle || vec_find(&check->ranges, &key, nat_range_cmp))
                continue;
            about(check, installed);
            differ(check, "a source range is there, and nothing asks for it");
        }
    }
    return r;
}

/* Returns, by endpoint id, whether it exists and belongs to a Service. The caller frees it;
 * NULL: no memory. */
static bool *list_asked(const struct nat_datapath *datapath)
{
    bool *asked = calloc(datapath->maps[NAT_MAP_ENDPOINTS].entries, sizeof(*asked));
    sorted_each(struct nat_installed *, installed, &datapath->installed) {
        for (size_t i = 0; asked && i < (*installed)->endpoints.count; i++) {
            uint32_t id = (*installed)->endpoints.items[i];
            asked[id] = nat_endpoint_lives(datapath, id, (*installed)->id);
        }
    }
    return asked;
}

static void look_for_endpoints(struct check *check)
{
    const struct nat_datapath *datapath = check->datapath;
    AUTOFREE bool *asked = list_asked(datapath);
    if (!asked)
        check->error = -ENOMEM;
    for (uint32_t id = 1; asked && id < datapath->maps[NAT_MAP_ENDPOINTS].entries; id++) {
        const struct nat_endpoint_value *value = &datapath->endpoints[id];
        if (asked[id] || !(value->state & NAT_ENDPOINT_GENERATION))
            continue;
        struct nat_endpoint endpoint = nat_endpoint_of(datapath, id);
        char where[NAT_KEY_STRLEN];
        about(check, value->protocol ? nat_installed_by_id(datapath, value->owner) : NULL);
        differ(check, "endpoint %s lives, and nothing asks for it", endpoint_str(&endpoint, where));
    }
}

static int look_for_services(struct check *check, const struct sorted *rows)
{
    sorted_each(struct nat_installed *, installed, &check->datapath->installed) {
        char name[NAT_NAME_MAX];
        memcpy(name, (*installed)->name, strlen((*installed)->name) + 1);
        char *slash = strchr(name, '/');
        *slash = '\0';
        struct nat_row sought = { .namespace = name, .name = slash + 1 }, *key = &sought;
        if (sorted_find(rows, &key))
            continue;
        about(check, *installed);
        differ(check, "the Service is in the maps, and nothing asks for it");
    }
    return check->error;
}

static void check_done(struct check *check)
{
    vec_done(&check->ports);
    vec_done(&check->entries);
    vec_done(&check->ranges);
}

int nat_datapath_verify(struct nat_datapath *datapath, const struct sorted *rows,
                        nat_difference_list *list)
{
    CLEANUP(check_done) struct check check = { .datapath = datapath, .list = list, .service = "" };
    sorted_each(struct nat_row *, row, rows) {
        check_row(&check, *row);
        if (check.error < 0)
            return check.error;
    }
    int r = look_for_services(&check, rows);
    if (r < 0)
        return r;
    r = look_for_entries(&check);
    if (r < 0)
        return r;
    r = look_for_ranges(&check);
    if (r < 0)
        return r;
    look_for_endpoints(&check);
    return check.error;
}

int nat_datapath_verify_row(struct nat_datapath *datapath, const struct nat_row *row,
                            nat_difference_list *list)
{
    CLEANUP(check_done) struct check check = { .datapath = datapath, .list = list, .service = "" };
    check_row(&check, row);
    return check.error;
}
