// SPDX-License-Identifier: Apache-2.0
/*
 * The store: the current objects, and the changes.
 *
 * Each key has an entry (entry.h); the indexes (index_table.h) hold the effective objects. A key
 * whose content is again what it was when changes were last taken is no longer dirty.
 *
 * Every operation first allocates, then does the steps that can't fail: a put that returns -ENOMEM
 * has changed nothing. Results do not depend on the order of puts or on the random hash key: groups
 * are sorted, lists and changes are sorted when they are read.
 */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/macro.h"
#include "base/text.h"
#include "faults/manifests.h"
#include "faults/raise.h"
#include "model/services/endpoint_slice.h"
#include "store/entry.h"
#include "store/index_table.h"
#include "store/map.h"

LIST_HEAD(entry_list, entry);

struct store {
    uint8_t seed[16];
    struct map entries[KIND_COUNT];
    size_t counts[KIND_COUNT]; /* keys that have an object */
    size_t endpoints;          /* effective slices made from Endpoints */
    struct index_table indexes;
    struct entry_list dirty;
    size_t dirty_count;
    size_t conflicts; /* keys with several origins */
    uint64_t version;
};

/* Removes and frees an entry that has no object and no change. */
static void entry_retire(struct store *store, struct entry *entry, enum kind kind)
{
    if (entry->offers || entry->dirty)
        return;
    map_remove(&store->entries[kind], &entry->node);
    free(entry);
}

static bool same(const struct object *a, const struct object *b)
{
    return a && b ? object_equal(a, b) : a == b;
}

static bool is_endpoints(const struct object *object)
{
    return object && object->kind == KIND_ENDPOINT_SLICE &&
           to_endpoint_slice(object)->source == SLICE_ENDPOINTS;
}

/* Records that another object is effective; returns 1 if its content differs. */
static int note_change(struct store *store, struct entry *entry, struct object *before)
{
    const struct object *after = entry_winner(entry);
    if (same(before, after))
        return 0;
    store->version++;
    enum kind kind = before ? before->kind : after->kind;
    store->counts[kind] += (size_t)(after != NULL) - (size_t)(before != NULL);
    store->endpoints += (size_t)is_endpoints(after) - (size_t)is_endpoints(before);

    if (!entry->dirty) {
        entry->dirty = true;
        entry->before = before;
        LIST_INSERT_HEAD(&store->dirty, entry, dirty_link);
        store->dirty_count++;
    } else if (same(entry->before, after)) {
        entry->dirty = false;
        LIST_REMOVE(entry, dirty_link);
        store->dirty_count--;
        entry_drop_before(entry);
    }
    return 1;
}

/* Frees an object that its origin has dropped, unless the entry still holds it as `before`. */
static void release(const struct entry *entry, struct object *object)
{
    if (object != entry->before)
        object_free(object);
}

struct store *store_new(void)
{
    struct store *store = calloc(1, sizeof(*store));
    if (!store)
        return NULL;
    if (getrandom(store->seed, sizeof(store->seed), 0) != (ssize_t)sizeof(store->seed)) {
        free(store);
        return NULL;
    }
    store->indexes = index_table_new(store->seed);
    LIST_INIT(&store->dirty);
    return store;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    index_table_done(&store->indexes);
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        size_t cursor = 0;
        for (struct entry *entry; (entry = to_entry(map_next(&store->entries[kind], &cursor)));)
            entry_free(entry);
        map_done(&store->entries[kind]);
    }
    free(store);
}

/* Puts an object of an origin that already has the key. */
static int replace(struct store *store, struct entry *entry, struct offer *offer,
                   struct object *object)
{
    struct object *before = entry_winner(entry), *replaced = offer->object;
    if (offer == entry->offers) {
        int r = index_table_update(&store->indexes, object->kind, before, object);
        if (r < 0)
            return r;
    }
    offer->object = object;
    int r = note_change(store, entry, before);
    release(entry, replaced);
    return r;
}

/* Puts an object of an origin that is new to the key. */
static int insert(struct store *store, struct entry *entry, struct offer **place,
                  const char *origin, struct object *object)
{
    struct object *before = entry_winner(entry);
    AUTOFREE struct offer *offer = offer_new(origin);
    if (!offer)
        return -ENOMEM;
    if (place == &entry->offers) {
        int r = index_table_update(&store->indexes, object->kind, before, object);
        if (r < 0)
            return r;
    }
    offer->object = object;
    offer->next = *place;
    *place = TAKE_PTR(offer);
    if (entry->offers->next && !entry->offers->next->next)
        store->conflicts++;
    return note_change(store, entry, before);
}

static int put(struct store *store, const char *origin, struct object *object)
{
    struct object_key key = { object->namespace, object->name };
    struct entry *entry = entry_find(&store->entries[object->kind], store->seed, &key);
    if (entry) {
        bool there;
        struct offer **place = entry_place(entry, origin, &there);
        return there ? replace(store, entry, *place, object)
                     : insert(store, entry, place, origin, object);
    }

    AUTOFREE struct entry *fresh = entry_new(&store->entries[object->kind], store->seed, object);
    if (!fresh)
        return -ENOMEM;
    int r = insert(store, fresh, &fresh->offers, origin, object);
    if (r < 0)
        return r;
    map_add(&store->entries[object->kind], &fresh->node);
    (void)TAKE_PTR(fresh);
    return r;
}

int store_put(struct store *store, const char *origin, struct object *object)
{
    int r = put(store, origin, object);
    if (r < 0)
        object_free(object);
    return r;
}

int store_remove(struct store *store, const char *origin, enum kind kind, const char *namespace,
                 const char *name)
{
    struct entry *entry =
        entry_find(&store->entries[kind], store->seed, &(struct object_key){ namespace, name });
    bool there = false;
    struct offer **place = entry ? entry_place(entry, origin, &there) : NULL;
    if (!there)
        return 0;

    struct offer *offer = *place;
    struct object *before = entry_winner(entry);
    if (offer == entry->offers) {
        const struct object *heir = offer->next ? offer->next->object : NULL;
        int r = index_table_update(&store->indexes, kind, before, heir);
        if (r < 0)
            return r;
    }
    if (entry->offers->next && !entry->offers->next->next)
        store->conflicts--;
    *place = offer->next;
    int r = note_change(store, entry, before);
    release(entry, offer->object);
    free(offer);
    entry_retire(store, entry, kind);
    return r;
}

const struct object *store_get(const struct store *store, enum kind kind, const char *namespace,
                               const char *name)
{
    const struct entry *entry =
        entry_find(&store->entries[kind], store->seed, &(struct object_key){ namespace, name });
    return entry ? entry_winner(entry) : NULL;
}

const struct object *store_next(const struct store *store, enum kind kind, size_t *cursor)
{
    const struct entry *entry;
    while ((entry = to_entry(map_next(&store->entries[kind], cursor)))) {
        if (entry_winner(entry))
            return entry_winner(entry);
    }
    return NULL;
}

const char *store_origin(const struct store *store, const struct object *object)
{
    const struct entry *entry = entry_find(&store->entries[object->kind], store->seed,
                                           &(struct object_key){ object->namespace, object->name });
    return entry && entry_winner(entry) == object ? entry->offers->origin : NULL;
}

uint64_t store_version(const struct store *store)
{
    return store->version;
}

size_t store_count(const struct store *store, enum kind kind)
{
    return store->counts[kind];
}

static int listed_cmp(const void *a, const void *b)
{
    return object_key_cmp(*(const struct object *const *)a, *(const struct object *const *)b);
}

int store_list(const struct store *store, enum kind kind, object_list *ret_list)
{
    object_list list = { 0 };
    int r = vec_reserve(&list, store->counts[kind]);
    if (r < 0)
        return r;
    size_t cursor = 0;
    for (struct entry *entry; (entry = to_entry(map_next(&store->entries[kind], &cursor)));) {
        if (entry->offers)
            list.items[list.count++] = entry_winner(entry);
    }
    vec_sort(&list, listed_cmp);
    *ret_list = list;
    return 0;
}

const struct service *const *store_services_at(const struct store *store, const struct ip *ip,
                                               size_t *ret_count)
{
    struct index_key key = index_key_of_ip(ip);
    return (const struct service *const *)index_find(&store->indexes.list[SERVICES_AT], &key,
                                                     ret_count);
}

const struct service *const *store_services_on(const struct store *store, enum protocol protocol,
                                               uint16_t node_port, size_t *ret_count)
{
    struct index_key key = index_key_of_node_port(protocol, node_port);
    return (const struct service *const *)index_find(&store->indexes.list[SERVICES_ON], &key,
                                                     ret_count);
}

const struct endpoint_slice *const *store_slices_of(const struct store *store,
                                                    const char *namespace, const char *service,
                                                    size_t *ret_count)
{
    size_t unused;
    return store_slices_among(store, namespace, service, ret_count, &unused);
}

const struct endpoint_slice *const *store_slices_among(const struct store *store,
                                                       const char *namespace, const char *service,
                                                       size_t *ret_count, size_t *ret_left_out)
{
    struct index_key key;
    size_t all = 0, count;
    *ret_count = *ret_left_out = 0;
    if (!index_key_of_names(namespace, service, &key))
        return NULL;
    const struct endpoint_slice *const *slices = (const struct endpoint_slice *const *)index_find(
        &store->indexes.list[SLICES_OF], &key, &all);
    for (count = all; count > 0 && slices[count - 1]->source == SLICE_ENDPOINTS;)
        count--;
    *ret_count = count ? count : all;
    *ret_left_out = all - *ret_count;
    return slices;
}

size_t store_endpoints_count(const struct store *store)
{
    return store->endpoints;
}

const struct pod *const *store_pods_at(const struct store *store, const struct ip *ip,
                                       size_t *ret_count)
{
    struct index_key key = index_key_of_ip(ip);
    return (const struct pod *const *)index_find(&store->indexes.list[PODS_AT], &key, ret_count);
}

const struct pod *const *store_pods_of(const struct store *store, const char *egress_namespace,
                                       const char *egress_name, size_t *ret_count)
{
    struct index_key key;
    *ret_count = 0;
    if (!index_key_of_names(egress_namespace, egress_name, &key))
        return NULL;
    return (const struct pod *const *)index_find(&store->indexes.list[PODS_OF], &key, ret_count);
}

const struct node *store_node_at(const struct store *store, const struct ip *ip)
{
    size_t count;
    struct index_key key = index_key_of_ip(ip);
    const struct node *const *nodes =
        (const struct node *const *)index_find(&store->indexes.list[NODES_AT], &key, &count);
    return count > 0 ? nodes[0] : NULL;
}

int store_addresses(const struct store *store, ip_list *ret_list)
{
    ip_list list = { 0 };
    const struct index *index = &store->indexes.list[SERVICES_AT];
    int r = vec_reserve(&list, index->groups.count);
    if (r < 0)
        return r;
    size_t cursor = 0;
    for (const void *key; (key = index_next(index, &cursor));)
        memcpy(&list.items[list.count++], key, sizeof(struct ip));
    vec_sort(&list, ip_item_cmp);
    *ret_list = list;
    return 0;
}

static int change_cmp(const void *a, const void *b)
{
    const struct change *left = a, *right = b;
    return object_key_cmp(left->before ? left->before : left->after,
                          right->before ? right->before : right->after);
}

int store_changes(struct store *store, change_list *ret_list)
{
    change_list list = { 0 };
    int r = vec_reserve(&list, store->dirty_count);
    if (r < 0)
        return r;
    struct entry *entry;
    LIST_FOREACH(entry, &store->dirty, dirty_link)
    list.items[list.count++] = (struct change){ entry->before, entry_winner(entry) };
    vec_sort(&list, change_cmp);
    *ret_list = list;
    return 0;
}

void store_changes_done(struct store *store)
{
    while (!LIST_EMPTY(&store->dirty)) {
        struct entry *entry = LIST_FIRST(&store->dirty);
        enum kind kind = entry_sample(entry)->kind;
        LIST_REMOVE(entry, dirty_link);
        entry->dirty = false;
        if (!entry->offers) /* its key is in the object that is freed next */
            map_remove(&store->entries[kind], &entry->node);
        entry_drop_before(entry);
        if (!entry->offers)
            free(entry);
    }
    store->dirty_count = 0;
}

/* "web.yaml:12", or the origin where the object has no file. */
static void add_place(struct text *text, const struct offer *offer)
{
    if (*offer->object->file)
        text_addf(text, "%s:%u", offer->object->file, offer->object->line);
    else
        text_add(text, offer->origin);
}

static void add_conflict(const struct entry *entry, struct faults *faults)
{
    const struct object *object = entry_winner(entry);
    AUTOTEXT struct text place = { 0 }, first = { 0 }, others = { 0 };
    int64_t count = 0;
    text_addf(&place, "%s %s%s%s", kind_name(object->kind), object->namespace,
              *object->namespace ? "/" : "", object->name);
    add_place(&first, entry->offers);
    for (const struct offer *offer = entry->offers->next; offer; offer = offer->next) {
        text_add(&others, count++ > 0 ? ", " : "");
        add_place(&others, offer);
    }
    fault_raise(faults, text_str(&place), object_repeated, .first = text_str(&first),
                .others = text_str(&others), .count = count);
}

static int conflict_cmp(const void *a, const void *b)
{
    const struct entry *const *left = a, *const *right = b;
    return object_key_cmp(entry_sample(*left), entry_sample(*right));
}

void store_conflicts(const struct store *store, struct faults *faults)
{
    AUTOVEC VEC(const struct entry *) list = { 0 };
    if (store->conflicts == 0)
        return;
    if (vec_reserve(&list, store->conflicts) < 0) {
        faults->incomplete = true;
        return;
    }
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        size_t cursor = 0;
        for (struct entry *entry; (entry = to_entry(map_next(&store->entries[kind], &cursor)));) {
            if (entry->offers && entry->offers->next)
                list.items[list.count++] = entry;
        }
    }
    vec_sort(&list, conflict_cmp);
    for (size_t i = 0; i < list.count; i++)
        add_conflict(list.items[i], faults);
}
