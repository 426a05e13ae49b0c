// SPDX-License-Identifier: Apache-2.0
/*
 * Rows into the maps, by difference.
 *
 * A Service changes in this order: its name and id, if it is new; the idle bank; its source ranges
 * in that bank; the entries that lead to it; the service word, which switches all of it at once;
 * then what nobody is led to any more is taken away. A process that dies in between leaves either
 * the old Service or the new one in force, and beside it what adopt.c finds to belong to nobody.
 * What stops a change before the switch (a full map) undoes it.
 *
 * A row that stands already costs reads of mapped memory only.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/change.h"

#define FLAGS_MASK (0xffffffffull & ~NAT_SERVICE_BANK)

bool nat_row_stands(const struct nat_plane *plane, const struct nat_held *held,
                    const struct nat_wish *wish)
{
    if ((plane->services[held->id] & FLAGS_MASK) != (NAT_SERVICE_USED | wish->flags) ||
        held->ports.count != wish->ports.count)
        return false;
    for (size_t i = 0; i < wish->ports.count; i++) {
        const struct nat_held_port *port = &held->ports.items[i];
        const struct nat_wish_port *wanted = &wish->ports.items[i];
        if (port->owner != ((uint64_t)held->id << 32 | wanted->owner) ||
            !nat_bank_stands(plane, held, port, wanted))
            return false;
    }
    return nat_entries_stand(plane, held, wish) &&
           nat_ranges_stand(&held->ranges[nat_service_bank(plane, held->id)], wish);
}

/* Asks the hash tables for what is held. Returns 1 if something was other. */
static int refresh(struct nat_plane *plane, struct nat_held *held)
{
    char wanted[NAT_NAME_MAX] = "", is[NAT_NAME_MAX];
    memcpy(wanted, held->name, strlen(held->name));
    int named = nat_table_get(plane, NAT_MAP_NAMES, &held->id, is);
    if (named < 0 || memcmp(wanted, is, sizeof(is)) != 0) {
        int r = nat_table_put(plane, NAT_MAP_NAMES, &held->id, wanted, BPF_ANY);
        if (r < 0)
            return r;
        named = 1;
    }
    int ranges = nat_ranges_refresh(plane, held);
    if (ranges < 0)
        return ranges;
    int entries = nat_entries_refresh(plane, held);
    if (entries < 0)
        return entries;
    held->doubted = false;
    return named || ranges || entries;
}

static struct nat_held *held_new(const char *name)
{
    struct nat_held *held = calloc(1, sizeof(*held));
    if (!held)
        return NULL;
    held->name = strdup(name);
    if (held->name)
        return held;
    free(held);
    return NULL;
}

static void leave(struct nat_change *change)
{
    struct nat_plane *plane = change->plane;
    struct nat_held *held = change->held;
    sorted_remove(&plane->held, &held);
    plane->by_id[held->id] = NULL;
    nat_ids_rest(&plane->ids, NAT_ID_SERVICE, held->id, 1, change->now_ms);
    nat_held_free(held);
    change->held = NULL;
}

/* A new Service gets an id, counters from nothing, and a name. On failure it is freed. */
static int enter(struct nat_change *change)
{
    struct nat_plane *plane = change->plane;
    struct nat_held *held = change->held;
    change->at = NAT_MAP_SERVICES;
    int r = nat_ids_take(&plane->ids, NAT_ID_SERVICE, 1, change->now_ms, &held->id);
    if (r < 0) {
        nat_held_free(held);
        change->held = NULL;
        return r;
    }
    plane->by_id[held->id] = held;
    nat_word_set(&plane->services[0], plane->services[0] + (1ull << NAT_SERVICE_GENERATION_SHIFT));
    memset(&plane->counters[held->id * NAT_COUNTER_STRIPES], 0,
           NAT_COUNTER_STRIPES * sizeof(*plane->counters));
    r = sorted_put(&plane->held, &held);
    change->at = NAT_MAP_NAMES;
    if (r == 0)
        r = nat_table_put(plane, NAT_MAP_NAMES, &held->id, change->wish->name, BPF_ANY);
    if (r < 0)
        leave(change);
    return r;
}

/* Everything up to the switch. On failure all is as it was. */
static int prepare(struct nat_change *change)
{
    int r = nat_bank_fill(change);
    if (r == 0)
        r = nat_ranges_fill(change);
    if (r == 0)
        r = nat_entries_put(change);
    if (r < 0)
        nat_bank_undo(change);
    return r;
}

static void switch_to(struct nat_change *change)
{
    __u64 *word = &change->plane->services[change->held->id];
    uint64_t generation = change->created ? change->plane->services[0] : *word;
    generation &= ~0ull << NAT_SERVICE_GENERATION_SHIFT;
    nat_word_set(word, generation | change->wish->flags | NAT_SERVICE_USED | change->bank);
}

static void forget(struct nat_change *change)
{
    (void)nat_ranges_remove(change->plane, change->held);
    (void)nat_table_remove(change->plane, NAT_MAP_NAMES, &change->held->id);
    leave(change);
}

static int carry_out(struct nat_change *change)
{
    int r = change->created ? enter(change) : 0;
    if (r < 0)
        return r;
    change->bank = change->created ? 0 : !nat_service_bank(change->plane, change->held->id);
    r = prepare(change);
    if (r < 0) {
        if (change->created)
            forget(change);
        return r;
    }
    switch_to(change);
    r = nat_entries_drop(change);
    nat_bank_settle(change);
    nat_entry_list before = change->held->entries;
    change->held->entries = change->entries;
    change->entries = before;
    return r;
}

static int apply(struct nat_plane *plane, const struct nat_wish *wish, struct nat_held *held,
                 enum nat_map_index *ret_at)
{
    CLEANUP(nat_held_freep) struct nat_held *fresh = held ? NULL : held_new(wish->name);
    AUTOCHANGE struct nat_change change = { 0 };
    if (!held && !fresh)
        return -ENOMEM;
    int r = nat_change_begin(&change, plane, wish, held ? held : fresh);
    if (r < 0)
        return r;
    change.created = TAKE_PTR(fresh) != NULL;
    r = carry_out(&change);
    *ret_at = change.at;
    return r;
}

static const char *remedy_of(enum nat_map_index map)
{
    return map == NAT_MAP_SLOTS || map == NAT_MAP_ENDPOINTS ? "raise services.maps.endpoints"
                                                            : "raise services.maps.services";
}

static void explain(const char *name, int error, enum nat_map_index at, struct faults *faults)
{
    AUTOTEXT struct text place = { 0 };
    text_addf(&place, "Service %s", name);
    if (error == -ENOSPC)
        faults_add(faults, text_str(&place), remedy_of(at), "the map %s is full", nat_map_name(at));
    else
        faults_add(faults, text_str(&place), NULL, "can't be written to the maps: %s",
                   strerror(-error));
}

static void explain_sctp(const char *name, struct faults *faults)
{
    AUTOTEXT struct text place = { 0 };
    text_addf(&place, "Service %s", name);
    faults_add(faults, text_str(&place), NULL, "SCTP is not translated by this version");
}

int nat_plane_write(struct nat_plane *plane, const struct nat_row *row, struct faults *faults)
{
    enum nat_map_index at = NAT_MAP_NAMES;
    AUTOWISH struct nat_wish wish;
    int r = nat_wish_make(row, &wish);
    if (r == 0 && wish.sctp)
        explain_sctp(wish.name, faults);
    struct nat_held *held = r == 0 ? nat_held_find(plane, wish.name) : NULL;
    int repaired = held && held->doubted ? refresh(plane, held) : 0;
    r = repaired < 0 ? repaired : r;
    if (r == 0 && held && nat_row_stands(plane, held, &wish))
        return repaired;
    if (r == 0)
        r = apply(plane, &wish, held, &at);
    if (r < 0) {
        explain(wish.name, r, at, faults);
        return r;
    }
    return 1;
}

static void forget_refusals(struct nat_plane *plane, uint32_t service)
{
    for (uint32_t cause = 0; cause < NAT_CAUSE_COUNT; cause++) {
        struct nat_refusal_key key = { service, cause };
        (void)nat_table_remove(plane, NAT_MAP_REFUSALS, &key);
    }
}

int nat_plane_remove(struct nat_plane *plane, const char *namespace, const char *name)
{
    struct nat_wish nothing = { 0 };
    AUTOCHANGE struct nat_change change = { 0 };
    struct nat_held *held = NULL;
    if (nat_name_of(namespace, name, nothing.name) == 0)
        held = nat_held_find(plane, nothing.name);
    if (!held)
        return 0;
    int r = nat_change_begin(&change, plane, &nothing, held);
    if (r == 0)
        r = nat_entries_drop(&change);
    if (r < 0)
        return r;
    nat_word_set(&plane->services[held->id], 0);
    nat_bank_settle(&change);
    forget_refusals(plane, held->id);
    forget(&change);
    return 1;
}

void nat_plane_doubt(struct nat_plane *plane)
{
    sorted_each(struct nat_held *, held, &plane->held) {
        (*held)->doubted = true;
    }
}

int nat_plane_each_service(struct nat_plane *plane,
                           int (*each)(const char *namespace, const char *name, void *context),
                           void *context)
{
    for (size_t i = plane->held.count; i-- > 0;) {
        char name[NAT_NAME_MAX];
        struct nat_held *held = *(struct nat_held **)sorted_at(&plane->held, i);
        memcpy(name, held->name, strlen(held->name) + 1);
        char *slash = strchr(name, '/');
        *slash = '\0';
        int r = each(name, slash + 1, context);
        if (r != 0)
            return r;
    }
    return 0;
}
