// SPDX-License-Identifier: Apache-2.0
/*
 * Writes rows into the maps, by difference. The NAT engine calls this for each Service of a pass.
 *
 * A Service changes in this order: its name and id, if it is new; the idle bank; its source ranges
 * in that bank; its entries in "frontends"; the service word, which puts all of that in force at
 * once; last, everything that no packet uses any more is removed. A process that exits in between
 * leaves either the old Service or the new one in force, and leftovers, which adopt.c removes. An
 * error before the switch (a full map) undoes the change.
 *
 * A row that the maps match already costs reads of mapped memory only.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/maps/arrays.h"
#include "apply/nat/maps/table.h"
#include "apply/nat/services/bank.h"
#include "apply/nat/services/entries.h"
#include "apply/nat/services/ranges.h"
#include "apply/nat/services/rows.h"
#include "base/remedy.h"
#include "faults/nat.h"
#include "faults/raise.h"

#define FLAGS_MASK (0xffffffffull & ~NAT_SERVICE_BANK)

bool nat_row_matches(const struct nat_datapath *datapath, const struct nat_installed *installed,
                     const struct nat_desired *desired)
{
    if ((datapath->services[installed->id] & FLAGS_MASK) != (NAT_SERVICE_USED | desired->flags) ||
        !nat_bank_matches(datapath, installed, desired))
        return false;
    return nat_entries_match(datapath, installed, desired) &&
           nat_ranges_match(&installed->ranges[nat_service_bank(datapath, installed->id)], desired);
}

/* Makes hash tables and memory agree. Returns 1 if they differed, 0, or -errno. */
static int refresh(struct nat_datapath *datapath, struct nat_installed *installed)
{
    char wanted[NAT_NAME_MAX] = "", is[NAT_NAME_MAX];
    memcpy(wanted, installed->name, strlen(installed->name));
    int named = nat_table_get(datapath, NAT_MAP_NAMES, &installed->id, is);
    if (named < 0 || memcmp(wanted, is, sizeof(is)) != 0) {
        int r = nat_table_put(datapath, NAT_MAP_NAMES, &installed->id, wanted, BPF_ANY);
        if (r < 0)
            return r;
        named = 1;
    }
    int ranges = nat_ranges_refresh(datapath, installed);
    if (ranges < 0)
        return ranges;
    int entries = nat_entries_refresh(datapath, installed);
    if (entries < 0)
        return entries;
    installed->doubted = false;
    return named || ranges || entries;
}

/* The reverse of enter(): the id rests, and the memory of the Service is freed. */
static void leave(struct nat_change *change)
{
    struct nat_datapath *datapath = change->datapath;
    struct nat_installed *installed = change->installed;
    sorted_remove(&datapath->installed, &installed);
    datapath->by_id[installed->id] = NULL;
    nat_ids_rest(&datapath->ids, NAT_ID_SERVICE, installed->id, 1, change->now_ms);
    nat_installed_free(installed);
    change->installed = NULL;
}

static int enter_name(struct nat_change *change)
{
    struct nat_datapath *datapath = change->datapath;
    struct nat_installed *installed = change->installed;
    int r = sorted_put(&datapath->installed, &installed);
    if (r < 0)
        return r;
    change->at = NAT_MAP_NAMES;
    return nat_table_put(datapath, NAT_MAP_NAMES, &installed->id, change->desired->name, BPF_ANY);
}

/* Flows of existing endpoints do not belong to the next Service, even if it has the same id. */
static void begin_generation(struct nat_datapath *datapath)
{
    uint64_t last = datapath->endpoints[0].addr.words[NAT_GENERATION_WORD];
    nat_word_set(&datapath->services[0], last << NAT_SERVICE_GENERATION_SHIFT);
}

/* A new Service gets an id, a name, and counters of zero. On failure its memory is freed. */
static int enter(struct nat_change *change)
{
    struct nat_datapath *datapath = change->datapath;
    struct nat_installed *installed = change->installed;
    change->at = NAT_MAP_SERVICES;
    int r = nat_ids_take(&datapath->ids, NAT_ID_SERVICE, 1, change->now_ms, &installed->id);
    if (r < 0) {
        nat_installed_free(installed);
        change->installed = NULL;
        return r;
    }
    datapath->by_id[installed->id] = installed;
    begin_generation(datapath);
    memset(&datapath->counters[installed->id * NAT_COUNTER_STRIPES], 0,
           NAT_COUNTER_STRIPES * sizeof(*datapath->counters));
    r = enter_name(change);
    if (r < 0)
        leave(change);
    return r;
}

static int fill(struct nat_change *change)
{
    int r = nat_bank_fill(change);
    if (r < 0)
        return r;
    r = nat_ranges_fill(change);
    if (r < 0)
        return r;
    return nat_entries_put(change);
}

/* Everything up to the switch. On failure packets meet the old state. */
static int prepare(struct nat_change *change)
{
    int r = fill(change);
    if (r < 0)
        nat_bank_undo(change);
    return r;
}

static void switch_to(struct nat_change *change)
{
    __u64 *word = &change->datapath->services[change->installed->id];
    uint64_t generation = change->created ? change->datapath->services[0] : *word;
    generation &= ~0ull << NAT_SERVICE_GENERATION_SHIFT;
    nat_word_set(word, generation | change->desired->flags | NAT_SERVICE_USED | change->bank);
}

static void forget(struct nat_change *change)
{
    (void)nat_ranges_remove(change->datapath, change->installed);
    (void)nat_table_remove(change->datapath, NAT_MAP_NAMES, &change->installed->id);
    leave(change);
}

static int carry_out(struct nat_change *change)
{
    int r = change->created ? enter(change) : 0;
    if (r < 0)
        return r;
    change->bank = change->created ? 0 : !nat_service_bank(change->datapath, change->installed->id);
    r = prepare(change);
    if (r < 0) {
        if (change->created)
            forget(change);
        return r;
    }
    switch_to(change);
    r = nat_entries_drop(change);
    nat_bank_settle(change);
    nat_entry_list before = change->installed->entries;
    change->installed->entries = change->entries;
    change->entries = before;
    return r;
}

/* The map that has no more room. */
struct shortage {
    enum nat_map_index at;
    struct nat_part part; /* with -EDQUOT: the namespace's */
};

static struct shortage shortage_of(const struct nat_change *change)
{
    struct shortage shortage = { .at = change->at };
    for (int i = 0; i < NAT_SHARED_COUNT; i++) {
        if (nat_share_map(i) == change->at)
            shortage.part = change->parts[i];
    }
    return shortage;
}

/* `installed`: NULL for a new Service. `ret_short`: with -ENOSPC and -EDQUOT. */
static int apply(struct nat_datapath *datapath, const struct nat_desired *desired,
                 struct nat_installed *installed, struct shortage *ret_short)
{
    CLEANUP(nat_installed_freep) struct nat_installed *fresh = NULL;
    AUTOCHANGE struct nat_change change = { 0 };
    if (!installed) {
        fresh = nat_installed_new(desired->name);
        if (!fresh)
            return -ENOMEM;
    }
    int r = nat_change_begin(&change, datapath, desired, installed ? installed : fresh);
    if (r < 0)
        return r;
    change.created = !installed;
    r = nat_share_judge(&change);
    if (r == 0) {
        fresh = NULL; /* carry_out() installs it, or frees it */
        r = carry_out(&change);
    }
    *ret_short = shortage_of(&change);
    return r;
}

/* The setting for the size of a map. */
static const char *key_of(enum nat_map_index map)
{
    return map == NAT_MAP_SLOTS || map == NAT_MAP_ENDPOINTS ? "services.maps.endpoints"
                                                            : "services.maps.services";
}

static void explain_share(const char *name, const char *place, const struct shortage *shortage,
                          struct faults *faults)
{
    const int length = (int)strcspn(name, "/");
    AUTOFREE char *namespace = text_format("%.*s", length, name);
    fault_raise(faults, namespace ? place : NULL, nat_share_exceeded,
                .map = nat_map_name(shortage->at), .namespace = namespace,
                .has = (int64_t)shortage->part.has, .fair = (int64_t)shortage->part.fair,
                .key = key_of(shortage->at));
}

static void explain(const char *name, int error, const struct shortage *shortage,
                    struct faults *faults)
{
    AUTOTEXT struct text place = { 0 };
    text_addf(&place, "Service %s", name);
    if (error == -EDQUOT)
        explain_share(name, text_str(&place), shortage, faults);
    else if (error == -ENOSPC)
        fault_raise(faults, text_str(&place), nat_map_full, .map = nat_map_name(shortage->at),
                    .key = key_of(shortage->at));
    else
        fault_raise(faults, text_str(&place), nat_service_unwritten, .reason = strerror(-error),
                    .remedy = remedy_for_kernel(error));
}

/* Returns the same as nat_datapath_write(). */
static int write_desired(struct nat_datapath *datapath, const struct nat_desired *desired,
                         struct shortage *ret_short)
{
    struct nat_installed *installed = nat_installed_find(datapath, desired->name);
    int repaired = installed && installed->doubted ? refresh(datapath, installed) : 0;
    if (repaired < 0)
        return repaired;
    if (installed && nat_row_matches(datapath, installed, desired)) {
        int r = nat_bank_learn(installed, desired);
        return r < 0 ? r : repaired;
    }
    int r = apply(datapath, desired, installed, ret_short);
    return r < 0 ? r : 1;
}

int nat_datapath_write(struct nat_datapath *datapath, const struct nat_row *row,
                       struct faults *faults)
{
    struct shortage shortage = { .at = NAT_MAP_NAMES };
    AUTOWISH struct nat_desired desired;
    int r = nat_desired_make(row, &desired);
    if (r == 0)
        r = write_desired(datapath, &desired, &shortage);
    if (r < 0)
        explain(desired.name, r, &shortage, faults);
    return r;
}

static void forget_refusals(struct nat_datapath *datapath, uint32_t service)
{
    for (uint32_t cause = 0; cause < NAT_CAUSE_COUNT; cause++) {
        struct nat_refusal_key key = { service, cause };
        (void)nat_table_remove(datapath, NAT_MAP_REFUSALS, &key);
    }
}

int nat_datapath_remove(struct nat_datapath *datapath, const char *namespace, const char *name)
{
    struct nat_desired nothing = { 0 };
    AUTOCHANGE struct nat_change change = { 0 };
    struct nat_installed *installed = NULL;
    if (nat_name_of(namespace, name, nothing.name) == 0)
        installed = nat_installed_find(datapath, nothing.name);
    if (!installed)
        return 0;
    int r = nat_change_begin(&change, datapath, &nothing, installed);
    if (r < 0)
        return r;
    r = nat_bank_fill(&change); /* without any: all endpoints end */
    if (r < 0)
        return r;
    r = nat_entries_drop(&change);
    if (r < 0)
        return r;
    nat_word_set(&datapath->services[installed->id], 0);
    nat_bank_settle(&change);
    forget_refusals(datapath, installed->id);
    forget(&change);
    return 1;
}

void nat_datapath_set_pod_interfaces(struct nat_datapath *datapath, uint32_t count)
{
    datapath->pod_interfaces = count;
}

void nat_datapath_invalidate(struct nat_datapath *datapath)
{
    sorted_each(struct nat_installed *, installed, &datapath->installed) {
        (*installed)->doubted = true;
    }
}

static int call_with(const struct nat_installed *installed,
                     int (*each)(const char *namespace, const char *name, void *context),
                     void *context)
{
    char name[NAT_NAME_MAX];
    memcpy(name, installed->name, strlen(installed->name) + 1);
    char *slash = strchr(name, '/');
    *slash = '\0';
    return each(name, slash + 1, context);
}

static bool has_address(const struct nat_installed *installed, const struct nat_addr *addr)
{
    vec_each(const struct nat_entry, entry, &installed->entries) {
        if (memcmp(&entry->key.addr, addr, sizeof(*addr)) == 0)
            return true;
    }
    return false;
}

int nat_datapath_each_owner(struct nat_datapath *datapath, const struct ip *ip,
                            int (*each)(const char *namespace, const char *name, void *context),
                            void *context)
{
    const struct nat_addr addr = nat_addr_of(ip);
    if (datapath->installed.count == 0)
        return -ENODATA;
    sorted_each(struct nat_installed *const, installed, &datapath->installed) {
        int r = has_address(*installed, &addr) ? call_with(*installed, each, context) : 0;
        if (r != 0)
            return r;
    }
    return 0;
}

int nat_datapath_each_service(struct nat_datapath *datapath,
                              int (*each)(const char *namespace, const char *name, void *context),
                              void *context)
{
    for (size_t i = datapath->installed.count; i-- > 0;) {
        int r =
            call_with(*(struct nat_installed **)sorted_at(&datapath->installed, i), each, context);
        if (r != 0)
            return r;
    }
    return 0;
}
