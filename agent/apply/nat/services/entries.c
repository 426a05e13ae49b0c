// SPDX-License-Identifier: Apache-2.0
/*
 * The entries of one Service in "frontends", written by difference.
 *
 * An address may move from one Service to another, and the two Services may be written in either
 * order. The Service that gets the address overwrites the entry; the one that loses it removes the
 * entry only if the live map still has it as its own. A Service whose entry was overwritten is
 * doubted from then on, so that its next write reads the map.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/maps/table.h"
#include "apply/nat/services/entries.h"
#include "apply/nat/services/filter.h"

static struct nat_frontend_value value_of(const struct nat_entry *entry, uint32_t service)
{
    return (struct nat_frontend_value){
        .service = service,
        .port = entry->port,
        .kind = entry->kind,
        .check = nat_frontend_check(&entry->key),
    };
}

static bool equal(const struct nat_entry *a, const struct nat_entry *b)
{
    return a->port == b->port && a->kind == b->kind;
}

/* Doubts another Service, whose entry is about to be overwritten. */
static void doubt(struct nat_datapath *datapath, uint32_t service)
{
    struct nat_installed *installed = nat_installed_by_id(datapath, service);
    if (installed)
        installed->doubted = true;
}

/* Writes one entry. `ret_taken`: the previous entry, if it was another Service's; else
 * unchanged. */
static int put(struct nat_change *change, const struct nat_entry *entry, bool fresh,
               struct nat_frontend_value *ret_taken)
{
    struct nat_datapath *datapath = change->datapath;
    struct nat_frontend_value value = value_of(entry, change->installed->id), is;
    int r = nat_table_put(datapath, NAT_MAP_FRONTENDS, &entry->key, &value,
                          fresh ? BPF_NOEXIST : BPF_ANY);
    if (r != -EEXIST)
        return r;
    r = nat_table_get(datapath, NAT_MAP_FRONTENDS, &entry->key, &is);
    if (r == 0 && is.service != change->installed->id) {
        doubt(datapath, is.service);
        *ret_taken = is;
    }
    return nat_table_put(datapath, NAT_MAP_FRONTENDS, &entry->key, &value, BPF_ANY);
}

/* The installed entry with the same key. Both lists are sorted: the search continues from `*at`. */
static const struct nat_entry *find_installed(const nat_entry_list *installed, size_t *at,
                                              const struct nat_entry *entry)
{
    while (*at < installed->count && nat_entry_cmp(&installed->items[*at], entry) < 0)
        ++*at;
    if (*at == installed->count || nat_entry_cmp(&installed->items[*at], entry) != 0)
        return NULL;
    return &installed->items[*at];
}

/* Removes an entry if the live map has it as this service's. */
static int remove_entry(const struct nat_datapath *datapath, const struct nat_frontend_key *key,
                        uint32_t service)
{
    struct nat_frontend_value value;
    int r = nat_table_get(datapath, NAT_MAP_FRONTENDS, key, &value);
    if (r < 0 || value.service != service)
        return r == -ENOENT ? 0 : r;
    return nat_table_remove(datapath, NAT_MAP_FRONTENDS, key);
}

static int undo_entry(struct nat_change *change, size_t i, const struct nat_entry *installed)
{
    const struct nat_frontend_key *key = &change->entries.items[i].key;
    struct nat_frontend_value before = change->taken[i];
    if (installed)
        before = value_of(installed, change->installed->id);
    if (before.service)
        return nat_table_put(change->datapath, NAT_MAP_FRONTENDS, key, &before, BPF_ANY);
    return remove_entry(change->datapath, key, change->installed->id);
}

static void undo(struct nat_change *change, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const struct nat_entry *entry = &change->entries.items[i];
        const struct nat_entry *installed = find_installed(&change->installed->entries, &at, entry);
        if (!installed || !equal(installed, entry))
            change->installed->doubted |= undo_entry(change, i, installed) < 0;
    }
}

static void resolve_ports(struct nat_change *change)
{
    vec_each(const struct nat_entry, entry, &change->desired->entries) {
        struct nat_entry *resolved = &change->entries.items[change->entries.count++];
        *resolved = *entry;
        if (entry->port)
            resolved->port = change->ports.items[entry->port - 1].now.id;
    }
}

int nat_entries_put(struct nat_change *change)
{
    resolve_ports(change);
    change->at = NAT_MAP_FRONTENDS;
    size_t at = 0;
    for (size_t i = 0; i < change->entries.count; i++) {
        const struct nat_entry *entry = &change->entries.items[i];
        nat_filter_add_entry(change->datapath, entry);
        const struct nat_entry *installed = find_installed(&change->installed->entries, &at, entry);
        if (installed && equal(installed, entry))
            continue;
        int r = put(change, entry, !installed, &change->taken[i]);
        if (r < 0) {
            undo(change, i);
            return r;
        }
    }
    return 0;
}

int nat_entries_drop(struct nat_change *change)
{
    size_t at = 0;
    vec_each(const struct nat_entry, installed, &change->installed->entries) {
        if (find_installed(&change->entries, &at, installed))
            continue;
        int r = remove_entry(change->datapath, &installed->key, change->installed->id);
        if (r < 0)
            return r;
        change->datapath->filter_litter = true;
    }
    return 0;
}

/* rows.c has compared the ports before: both lists have the same ones in the same order. */
bool nat_entries_match(const struct nat_datapath *datapath, const struct nat_installed *installed,
                       const struct nat_desired *desired)
{
    if (installed->entries.count != desired->entries.count)
        return false;
    for (size_t i = 0; i < desired->entries.count; i++) {
        const struct nat_entry *wanted = &desired->entries.items[i],
                               *is = &installed->entries.items[i];
        uint32_t port = wanted->port ? installed->ports.items[wanted->port - 1].id : 0;
        if (nat_entry_cmp(wanted, is) != 0 || is->kind != wanted->kind || is->port != port ||
            !nat_filter_has_entry(datapath, is))
            return false;
    }
    return true;
}

/*
 * Reads port and kind of an installed entry from the live map. `ret_ours`: whether the map has the
 * entry, and as this service's. Returns 1 if memory was wrong, 0, or -errno.
 */
static int refresh_entry(const struct nat_datapath *datapath, uint32_t service,
                         struct nat_entry *entry, bool *ret_ours)
{
    struct nat_frontend_value value;
    int r = nat_table_get(datapath, NAT_MAP_FRONTENDS, &entry->key, &value);
    if (r < 0 && r != -ENOENT)
        return r;
    *ret_ours =
        r == 0 && value.service == service && value.check == nat_frontend_check(&entry->key);
    if (!*ret_ours)
        return 1;
    if (value.port == entry->port && value.kind == entry->kind)
        return 0;
    entry->port = value.port;
    entry->kind = value.kind;
    return 1;
}

static void forget_entry(nat_entry_list *entries, size_t i)
{
    entries->count--;
    memmove(&entries->items[i], &entries->items[i + 1],
            (entries->count - i) * sizeof(*entries->items));
}

int nat_entries_refresh(struct nat_datapath *datapath, struct nat_installed *installed)
{
    nat_entry_list *entries = &installed->entries;
    int result = 0;
    for (size_t i = entries->count; i-- > 0;) {
        bool ours;
        int r = refresh_entry(datapath, installed->id, &entries->items[i], &ours);
        if (r < 0)
            return r;
        if (!ours)
            forget_entry(entries, i);
        result |= r;
    }
    return result;
}
