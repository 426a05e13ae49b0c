// SPDX-License-Identifier: Apache-2.0
/*
 * The table of allocated blocks; see block_table.h. Called by block_plan.c, and by the controller's
 * job of blocks, which keeps it.
 *
 * Each entry is in several sorted tables. A lookup of a range, as a pool's blocks or a Node's, uses
 * a key that is before all of that range.
 *
 * No block is allocated that overlaps another one, also one of another pool: by Coil's rules pools
 * may overlap, and a pool may have been edited without validation. Prefixes are nested or disjoint.
 * So a prefix that overlaps another is either a shorter one that contains it, with one candidate
 * per length, or directly follows it.
 */
#include "plan/pods/block_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"

enum { OVERLAPS_MAX = 256 }; /* free blocks that are skipped in one search */

/* ---- Orders ---- */

static const struct block_entry *entry_of(const void *item)
{
    return *(const struct block_entry *const *)item;
}

static int by_index(const void *a, const void *b)
{
    const struct block_entry *left = entry_of(a), *right = entry_of(b);
    int r = strcmp(left->pool, right->pool);
    r = r ? r : CMP(left->index, right->index);
    return r ? r : strcmp(left->name, right->name);
}

static int by_request(const void *a, const void *b)
{
    int r = strcmp(entry_of(a)->request, entry_of(b)->request);
    return r ? r : by_index(a, b);
}

static int by_node(const void *a, const void *b)
{
    int r = strcmp(entry_of(a)->node, entry_of(b)->node);
    return r ? r : by_index(a, b);
}

static int by_v4(const void *a, const void *b)
{
    int r = prefix_cmp(&entry_of(a)->ipv4, &entry_of(b)->ipv4);
    return r ? r : by_index(a, b);
}

static int by_v6(const void *a, const void *b)
{
    int r = prefix_cmp(&entry_of(a)->ipv6, &entry_of(b)->ipv6);
    return r ? r : by_index(a, b);
}

static const compare_fn compares[] = { by_index, by_request, by_node, by_v4, by_v6 };

void block_table_init(struct block_table *table)
{
    table->held_ms = 0;
    for (size_t i = 0; i < ARRAY_SIZE(compares); i++)
        table->orders[i] = (struct sorted)SORTED(struct block_entry *, compares[i]);
}

void block_table_done(struct block_table *table)
{
    sorted_each(struct block_entry *, entry, &table->orders[BLOCK_BY_INDEX])
        free(*entry);
    for (size_t i = 0; i < ARRAY_SIZE(compares); i++)
        sorted_done(&table->orders[i]);
}

/* An empty name, which no block has, comes before all names. */
static size_t find_from(const struct block_table *table, enum block_order order,
                        const struct block_entry *key)
{
    return sorted_lower_bound(&table->orders[order], &key);
}

/* The entry at an index of an order, or NULL past its end. */
static struct block_entry *entry_at(const struct block_table *table, enum block_order order,
                                    size_t place)
{
    const struct sorted *sorted = &table->orders[order];
    return place < sorted->count ? *(struct block_entry **)sorted_at(sorted, place) : NULL;
}

/* ---- Entries ---- */

static char *add_string(char **place, const char *string)
{
    size_t size = strlen(string) + 1;
    char *copy = memcpy(*place, string, size);
    *place += size;
    return copy;
}

static struct block_entry *entry_new(const struct block_entry *from)
{
    size_t size = sizeof(*from) + strlen(from->name) + strlen(from->pool) + strlen(from->node) +
                  strlen(from->node_uid) + strlen(from->request) + strlen(from->asker) + 6;
    struct block_entry *entry = malloc(size);
    if (!entry)
        return NULL;
    *entry = *from;
    char *place = (char *)(entry + 1);
    entry->name = add_string(&place, from->name);
    entry->pool = add_string(&place, from->pool);
    entry->node = add_string(&place, from->node);
    entry->node_uid = add_string(&place, from->node_uid);
    entry->request = add_string(&place, from->request);
    entry->asker = add_string(&place, from->asker);
    return entry;
}

static struct block_entry *find_entry(const struct block_table *table,
                                      const struct block_entry *key)
{
    struct block_entry **found = sorted_find(&table->orders[BLOCK_BY_INDEX], &key);
    return found ? *found : NULL;
}

static void remove_entry(struct block_table *table, struct block_entry *entry)
{
    for (size_t i = 0; i < ARRAY_SIZE(compares); i++)
        sorted_remove(&table->orders[i], &entry);
    free(entry);
}

/* Adds a copy, or replaces the entry with its key. */
static struct block_entry *put_entry(struct block_table *table, const struct block_entry *from)
{
    struct block_entry *old = find_entry(table, from), *entry = entry_new(from);
    if (old)
        remove_entry(table, old);
    for (size_t i = 0; entry && i < ARRAY_SIZE(compares); i++) {
        if (sorted_put(&table->orders[i], &entry) < 0) {
            remove_entry(table, entry);
            return NULL;
        }
    }
    return entry;
}

/* ---- Changes from the source ---- */

static struct block_entry key_of(const struct address_block *block)
{
    return (struct block_entry){
        .name = block->object.name,
        .pool = block->pool,
        .node = block->node,
        .node_uid = block->node_uid,
        .request = block->request,
        .asker = "",
        .index = block->index,
        .ipv4 = block->ipv4,
        .ipv6 = block->ipv6,
    };
}

/* A block without a uid, as of Coil, belongs to the Node of that name. */
static bool is_of(const struct block_entry *entry, const struct object *node)
{
    return node && (!*entry->node_uid || strcmp(entry->node_uid, node->uid) == 0);
}

static int64_t lone_from(const struct block_entry *old, const struct block_entry *entry,
                         const struct store *store, int64_t now_ms)
{
    if (is_of(entry, store_get(store, KIND_NODE, "", entry->node)))
        return 0;
    bool known = old && old->lone_ms && strcmp(old->node, entry->node) == 0 &&
                 strcmp(old->node_uid, entry->node_uid) == 0;
    return known ? old->lone_ms : now_ms + BLOCK_LONE_MS;
}

int block_table_put(struct block_table *table, const struct store *store,
                    const struct address_block *block, int64_t now_ms)
{
    struct block_entry entry = key_of(block);
    entry.state = BLOCK_KNOWN;
    entry.since_ms = now_ms;
    entry.lone_ms = lone_from(find_entry(table, &entry), &entry, store, now_ms);
    return put_entry(table, &entry) ? 0 : -ENOMEM;
}

const struct block_entry *block_table_find(const struct block_table *table,
                                           const struct address_block *block)
{
    const struct block_entry key = key_of(block);
    return find_entry(table, &key);
}

void block_table_drop(struct block_table *table, const struct address_block *block)
{
    const struct block_entry key = key_of(block);
    struct block_entry *entry = find_entry(table, &key);
    if (entry)
        remove_entry(table, entry);
}

int block_table_lose(struct block_table *table, const struct address_block *block, int64_t now_ms)
{
    struct block_entry entry = key_of(block);
    entry.request = ""; /* its requester has no result, or creates a new request */
    entry.state = BLOCK_LOST;
    entry.since_ms = now_ms;
    if (put_entry(table, &entry))
        return 0;
    block_table_drop(table, block);
    return -ENOMEM;
}

struct block_entry *const *block_table_of_node(const struct block_table *table, const char *node,
                                               size_t *ret_count)
{
    const struct block_entry key = { .node = node, .pool = "", .name = "" };
    size_t from = find_from(table, BLOCK_BY_NODE, &key), to = from;
    for (const struct block_entry *entry; (entry = entry_at(table, BLOCK_BY_NODE, to)); to++) {
        if (strcmp(entry->node, node) != 0)
            break;
    }
    *ret_count = to - from;
    return to > from ? sorted_at(&table->orders[BLOCK_BY_NODE], from) : NULL;
}

void block_table_node(struct block_table *table, const struct node *before,
                      const struct node *after, int64_t now_ms)
{
    size_t count;
    const struct object *now = after ? &after->object : NULL;
    struct block_entry *const *entries =
        block_table_of_node(table, before ? before->object.name : after->object.name, &count);
    for (size_t i = 0; i < count; i++) {
        struct block_entry *entry = entries[i];
        if (is_of(entry, now))
            entry->lone_ms = 0;
        else if (before && is_of(entry, &before->object))
            entry->lone_ms = now_ms;
    }
}

static int64_t end_of(const struct block_entry *entry)
{
    return entry->state == BLOCK_KNOWN
               ? INT64_MAX
               : entry->since_ms +
                     (entry->state == BLOCK_LOST ? BLOCK_LOST_MS : BLOCK_FORGOTTEN_MS);
}

int64_t block_table_forget(struct block_table *table, int64_t now_ms)
{
    int64_t next_ms = table->held_ms > now_ms ? table->held_ms : INT64_MAX;
    for (size_t i = table->orders[BLOCK_BY_INDEX].count; i-- > 0;) {
        struct block_entry *entry = entry_at(table, BLOCK_BY_INDEX, i);
        if (end_of(entry) <= now_ms)
            remove_entry(table, entry);
        else if (entry->state == BLOCK_LOST)
            next_ms = MIN(next_ms, end_of(entry));
    }
    return next_ms;
}

void block_table_forget_asked(struct block_table *table)
{
    for (size_t i = table->orders[BLOCK_BY_INDEX].count; i-- > 0;) {
        struct block_entry *entry = entry_at(table, BLOCK_BY_INDEX, i);
        if (entry->state != BLOCK_KNOWN && entry->state != BLOCK_LOST)
            remove_entry(table, entry);
    }
}

/* ---- Free blocks, and requested creates ---- */

static const struct prefix *prefix_of(const struct block_entry *entry, enum block_order order)
{
    return order == BLOCK_BY_V4 ? &entry->ipv4 : &entry->ipv6;
}

/* The first entry whose prefix is `prefix` or after it. */
static const struct block_entry *entry_from(const struct block_table *table, enum block_order order,
                                            const struct prefix *prefix)
{
    const struct block_entry key = { .ipv4 = *prefix, .ipv6 = *prefix, .pool = "", .name = "" };
    return entry_at(table, order, find_from(table, order, &key));
}

static bool overlaps(const struct block_table *table, enum block_order order,
                     const struct prefix *prefix)
{
    if (prefix->ip.family == IP_NONE)
        return false;
    const struct block_entry *next = entry_from(table, order, prefix);
    if (next && prefix_contains(prefix, &prefix_of(next, order)->ip))
        return true;
    for (uint8_t length = 0; length < prefix->length; length++) {
        const struct prefix wider = ip_network(&prefix->ip, length);
        const struct block_entry *entry = entry_from(table, order, &wider);
        if (entry && prefix_cmp(prefix_of(entry, order), &wider) == 0)
            return true;
    }
    return false;
}

static bool has_lost(const struct block_table *table, const char *pool)
{
    const struct block_entry key = { .pool = pool, .name = "" }, *entry;
    for (size_t place = find_from(table, BLOCK_BY_INDEX, &key);
         (entry = entry_at(table, BLOCK_BY_INDEX, place)) && strcmp(entry->pool, pool) == 0;
         place++) {
        if (entry->state == BLOCK_LOST)
            return true;
    }
    return false;
}

/* The lowest index of a pool, from `*index` on, that no entry from `*place` on has. */
static void pass_taken(const struct block_table *table, const char *pool, size_t *place,
                       uint32_t *index)
{
    for (const struct block_entry *entry; (entry = entry_at(table, BLOCK_BY_INDEX, *place));
         ++*place) {
        if (strcmp(entry->pool, pool) != 0 || entry->index > *index)
            return;
        if (entry->index == *index)
            ++*index;
    }
}

enum block_search block_table_free(const struct block_table *table, const struct address_pool *pool,
                                   struct pool_block *ret_block)
{
    const char *name = pool->object.name;
    const struct block_entry key = { .pool = name, .name = "" };
    size_t place = find_from(table, BLOCK_BY_INDEX, &key);
    uint32_t index = 0;
    for (int passed = 0; passed < OVERLAPS_MAX; passed++, index++) {
        pass_taken(table, name, &place, &index);
        if (!pool_block_at(pool, index, ret_block))
            return has_lost(table, name) ? BLOCK_AWAITED : BLOCK_EXHAUSTED;
        if (!overlaps(table, BLOCK_BY_V4, &ret_block->ipv4) &&
            !overlaps(table, BLOCK_BY_V6, &ret_block->ipv6))
            return BLOCK_FOUND;
    }
    return BLOCK_OVERLAPPED;
}

const struct block_entry *block_ask(struct block_table *table, const struct address_pool *pool,
                                    const struct pool_block *block, const struct node *node,
                                    const struct object *request, int64_t now_ms)
{
    AUTOFREE char *name = text_format("%s-%u", pool->object.name, block->index);
    if (!name)
        return NULL;
    const struct block_entry entry = {
        .name = name,
        .pool = pool->object.name,
        .node = node->object.name,
        .node_uid = node->object.uid,
        .request = request->uid,
        .asker = request->name,
        .index = block->index,
        .ipv4 = block->ipv4,
        .ipv6 = block->ipv6,
        .state = BLOCK_ASKED,
        .since_ms = now_ms,
    };
    return put_entry(table, &entry);
}

/* Whether an entry that the source has not received is too old to count. */
static bool is_stale(const struct block_entry *entry, int64_t now_ms)
{
    return entry->state == BLOCK_TAKEN && now_ms - entry->since_ms >= BLOCK_TELLING_MS;
}

/* The best of the request's entries: the one that the source has, else the requested create. */
static struct block_entry *best_of(const struct block_table *table, const char *request,
                                   int64_t now_ms)
{
    const struct block_entry key = { .request = request, .pool = "", .name = "" };
    struct block_entry *best = NULL, *entry;
    if (!*request)
        return NULL;
    for (size_t place = find_from(table, BLOCK_BY_REQUEST, &key);
         (entry = entry_at(table, BLOCK_BY_REQUEST, place)); place++) {
        if (strcmp(entry->request, request) != 0)
            break;
        if (!is_stale(entry, now_ms) && (!best || entry->state == BLOCK_KNOWN))
            best = entry;
        if (best && best->state == BLOCK_KNOWN)
            break;
    }
    return best;
}

const struct block_entry *block_of_request(const struct block_table *table, const char *request,
                                           int64_t now_ms)
{
    return best_of(table, request, now_ms);
}

void block_settle(struct block_table *table, const char *request, enum block_state state,
                  int64_t now_ms)
{
    struct block_entry *entry = best_of(table, request, now_ms);
    if (!entry || entry->state != BLOCK_ASKED)
        return;
    if (state == BLOCK_KNOWN && !entry->made) {
        remove_entry(table, entry);
        return;
    }
    if (state == BLOCK_MADE)
        entry->made = true;
    entry->state = !entry->made ? state : state == BLOCK_TAKEN ? BLOCK_SHOWN : BLOCK_MADE;
    entry->since_ms = now_ms;
}

void block_ask_again(struct block_table *table, const char *request, int64_t now_ms)
{
    struct block_entry *entry = best_of(table, request, now_ms);
    if (entry && entry->state == BLOCK_MADE)
        entry->state = BLOCK_ASKED;
}

size_t block_table_count(const struct block_table *table, const char *pool)
{
    const struct block_entry first = { .pool = pool, .name = "" };
    const struct block_entry last = { .pool = pool, .index = UINT32_MAX, .name = "" };
    return find_from(table, BLOCK_BY_INDEX, &last) - find_from(table, BLOCK_BY_INDEX, &first);
}
