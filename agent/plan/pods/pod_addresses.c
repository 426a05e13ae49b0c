// SPDX-License-Identifier: Apache-2.0
/*
 * Addresses of this node's pods; see pod_addresses.h. Called by the pods engine, which adds the
 * addresses in the kernel and those that it has promised.
 *
 * Addresses in use are in two sorted sets; free ones are found by iterating over a block's offsets.
 * This takes some microseconds for a block of 32.
 */
#include "plan/pods/pod_addresses.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"

static int block_cmp(const void *a, const void *b)
{
    return strcmp(((const struct pod_block *)a)->name, ((const struct pod_block *)b)->name);
}

static int rest_cmp(const void *a, const void *b)
{
    return ip_cmp(&((const struct pod_rest *)a)->ip, &((const struct pod_rest *)b)->ip);
}

void pod_addresses_init(struct pod_addresses *table)
{
    *table = (struct pod_addresses){
        .pod_interfaces = SORTED(struct pod_interface, pod_interface_cmp),
        .blocks = SORTED(struct pod_block, block_cmp),
        .used = SORTED(struct ip, ip_item_cmp),
        .unowned = SORTED(struct ip, ip_item_cmp),
        .rests = SORTED(struct pod_rest, rest_cmp),
    };
}

void pod_addresses_done(struct pod_addresses *table)
{
    sorted_done(&table->pod_interfaces);
    sorted_done(&table->blocks);
    sorted_done(&table->used);
    sorted_done(&table->unowned);
    sorted_done(&table->rests);
}

/* ---- Blocks ---- */

/* The prefix that represents both families. */
static const struct prefix *main_prefix(const struct pod_block *block)
{
    return block->ipv4.ip.family != IP_NONE ? &block->ipv4 : &block->ipv6;
}

static uint32_t prefix_size(const struct prefix *prefix)
{
    unsigned bits = ip_bits(&prefix->ip) - prefix->length;
    return bits > 16 ? POD_BLOCK_SIZE_MAX : UINT32_C(1) << bits;
}

uint32_t pod_block_size(const struct pod_block *block)
{
    const bool v4 = block->ipv4.ip.family != IP_NONE, v6 = block->ipv6.ip.family != IP_NONE;
    if (v4 && v6)
        return MIN(prefix_size(&block->ipv4), prefix_size(&block->ipv6));
    return v4 || v6 ? prefix_size(main_prefix(block)) : 0;
}

/* The address at an offset; IP_NONE of a family that the block does not have. */
static struct ip ip_at(const struct prefix *prefix, uint32_t offset)
{
    struct ip ip = prefix->ip;
    if (ip.family == IP_NONE)
        return ip;
    for (size_t i = ip_size(&ip); i-- > 0 && offset; offset >>= 8)
        ip.bytes[i] |= (uint8_t)offset;
    return ip;
}

/*
 * The offset of an address in a prefix that contains it; larger ones than are used are truncated.
 */
static uint32_t offset_of(const struct prefix *prefix, const struct ip *ip)
{
    uint32_t offset = 0;
    for (size_t i = 0; i < ip_size(ip); i++)
        offset = offset << 8 | (uint8_t)(ip->bytes[i] ^ prefix->ip.bytes[i]);
    return offset;
}

static const struct prefix *prefix_of(const struct pod_block *block, uint8_t family)
{
    return family == IP_V4 ? &block->ipv4 : &block->ipv6;
}

static bool block_contains(const struct pod_block *block, const struct ip *ip)
{
    const struct prefix *prefix = prefix_of(block, ip->family);
    return prefix->ip.family != IP_NONE && prefix_contains(prefix, ip);
}

const struct pod_block *pod_block_at(const struct pod_addresses *table, const struct ip *ip)
{
    sorted_each(const struct pod_block, block, &table->blocks) {
        if (ip->family != IP_NONE && block_contains(block, ip))
            return block;
    }
    return NULL;
}

struct pod_block *pod_block_named(const struct pod_addresses *table, const char *name)
{
    struct pod_block key = { 0 };
    if (strlen(name) >= sizeof(key.name))
        return NULL;
    strcpy(key.name, name);
    return sorted_find(&table->blocks, &key);
}

bool pod_address_beside(const struct pod_addresses *table, const struct ip *ip, uint8_t family,
                        struct ip *ret_ip)
{
    const struct pod_block *block = pod_block_at(table, ip);
    if (!block || prefix_of(block, family)->ip.family == IP_NONE)
        return false;
    *ret_ip = ip_at(prefix_of(block, family), offset_of(prefix_of(block, ip->family), ip));
    return true;
}

static int drop_rests_outside(struct pod_addresses *table)
{
    AUTOSORTED struct sorted kept = SORTED(struct pod_rest, rest_cmp);
    sorted_each(const struct pod_rest, rest, &table->rests) {
        int r = pod_block_at(table, &rest->ip) ? sorted_put(&kept, rest) : 0;
        if (r < 0)
            return r;
    }
    sorted_move(&table->rests, &kept);
    return 0;
}

int pod_addresses_set_blocks(struct pod_addresses *table, const pod_block_list *blocks, bool all,
                             int64_t now_ms)
{
    AUTOSORTED struct sorted next = SORTED(struct pod_block, block_cmp);
    vec_each(const struct pod_block, block, blocks) {
        struct pod_block entry = *block;
        const struct pod_block *known = sorted_find(&table->blocks, block);
        entry.since_ms = known ? known->since_ms : now_ms;
        int r = sorted_put(&next, &entry);
        if (r < 0)
            return r;
    }
    sorted_move(&table->blocks, &next);
    return all ? drop_rests_outside(table) : 0;
}

int pod_addresses_set_unowned(struct pod_addresses *table, const ip_list *unowned)
{
    AUTOSORTED struct sorted next = SORTED(struct ip, ip_item_cmp);
    vec_each(const struct ip, ip, unowned) {
        int r = sorted_put(&next, ip);
        if (r < 0)
            return r;
    }
    sorted_move(&table->unowned, &next);
    return 0;
}

/* ---- What is free ---- */

static bool is_used(const struct pod_addresses *table, const struct ip *ip)
{
    return ip->family != IP_NONE &&
           (sorted_find(&table->used, ip) || sorted_find(&table->unowned, ip));
}

static bool is_used_at(const struct pod_addresses *table, const struct pod_block *block,
                       uint32_t offset)
{
    const struct ip v4 = ip_at(&block->ipv4, offset), v6 = ip_at(&block->ipv6, offset);
    return is_used(table, &v4) || is_used(table, &v6);
}

/* 0: never, as far as known. */
static int64_t freed_ms_at(const struct pod_addresses *table, const struct pod_block *block,
                           uint32_t offset)
{
    const struct pod_rest key = { .ip = ip_at(main_prefix(block), offset) };
    const struct pod_rest *rest = sorted_find(&table->rests, &key);
    return rest ? rest->freed_ms : 0;
}

uint32_t pod_block_used(const struct pod_addresses *table, const struct pod_block *block)
{
    uint32_t used = 0, size = pod_block_size(block);
    for (uint32_t offset = 0; offset < size; offset++)
        used += is_used_at(table, block, offset);
    return used;
}

int64_t pod_block_empty_ms(const struct pod_addresses *table, const struct pod_block *block)
{
    int64_t last_ms = block->since_ms;
    sorted_each(const struct pod_rest, rest, &table->rests) {
        if (block_contains(block, &rest->ip))
            last_ms = MAX(last_ms, rest->freed_ms);
    }
    return last_ms;
}

/* The free offset that was freed first. */
struct candidate {
    const struct pod_block *block; /* NULL: none */
    uint32_t offset;
    uint32_t used; /* of the block */
    int64_t freed_ms;
};

static struct candidate oldest_of(const struct pod_addresses *table, const struct pod_block *block)
{
    struct candidate best = { 0 };
    uint32_t used = 0, size = pod_block_size(block);
    for (uint32_t offset = 0; offset < size; offset++) {
        if (is_used_at(table, block, offset)) {
            used++;
            continue;
        }
        int64_t freed_ms = freed_ms_at(table, block, offset);
        if (!best.block || freed_ms < best.freed_ms)
            best = (struct candidate){ block, offset, 0, freed_ms };
    }
    best.used = used;
    return best;
}

/*
 * Addresses after their cooldown before others, of these the fuller block's; then the one that has
 * been free for longer.
 */
static bool is_better(const struct candidate *a, const struct candidate *b, int64_t rested_ms)
{
    const bool a_rested = a->freed_ms <= rested_ms, b_rested = b->freed_ms <= rested_ms;
    if (a_rested != b_rested)
        return a_rested;
    if (a_rested && a->used != b->used)
        return a->used > b->used;
    return a->freed_ms < b->freed_ms;
}

bool pod_addresses_choose(const struct pod_addresses *table, int64_t now_ms, int64_t rest_ms,
                          struct pod_interface *pod_interface)
{
    struct candidate best = { 0 };
    sorted_each(const struct pod_block, block, &table->blocks) {
        if (block->reserved || block->closed || strcmp(block->pool, pod_interface->pool) != 0)
            continue;
        struct candidate candidate = oldest_of(table, block);
        if (candidate.block && (!best.block || is_better(&candidate, &best, now_ms - rest_ms)))
            best = candidate;
    }
    if (!best.block)
        return false;
    pod_interface->v4 = ip_at(&best.block->ipv4, best.offset);
    pod_interface->v6 = ip_at(&best.block->ipv6, best.offset);
    return true;
}

int64_t pod_addresses_freed_ms(const struct pod_addresses *table,
                               const struct pod_interface *chosen)
{
    const struct pod_rest key = { .ip = chosen->v4.family != IP_NONE ? chosen->v4 : chosen->v6 };
    const struct pod_rest *rest = sorted_find(&table->rests, &key);
    return rest ? rest->freed_ms : 0;
}

/* ---- Tenants ---- */

static int use(struct pod_addresses *table, const struct ip *ip)
{
    return ip->family == IP_NONE ? 0 : sorted_put(&table->used, ip);
}

static void disuse(struct pod_addresses *table, const struct pod_interface *pod_interface)
{
    sorted_remove(&table->used, &pod_interface->v4);
    sorted_remove(&table->used, &pod_interface->v6);
}

/* A partial failure leaves an unused address marked as used until the next restart. */
int pod_addresses_put(struct pod_addresses *table, const struct pod_interface *pod_interface)
{
    const struct pod_interface *known = sorted_find(&table->pod_interfaces, pod_interface);
    if (known)
        disuse(table, known);
    int r = use(table, &pod_interface->v4);
    if (r < 0)
        return r;
    r = use(table, &pod_interface->v6);
    return r < 0 ? r : sorted_put(&table->pod_interfaces, pod_interface);
}

static int rest_from(struct pod_addresses *table, const struct pod_interface *pod_interface,
                     int64_t now_ms)
{
    const struct pod_rest rest = {
        .ip = pod_interface->v4.family != IP_NONE ? pod_interface->v4 : pod_interface->v6,
        .freed_ms = now_ms,
    };
    return rest.ip.family == IP_NONE ? 0 : sorted_put(&table->rests, &rest);
}

int pod_addresses_free(struct pod_addresses *table, const struct pod_interface *key, int64_t now_ms)
{
    const struct pod_interface *known = sorted_find(&table->pod_interfaces, key);
    if (!known)
        return 0;
    const struct pod_interface pod_interface = *known;
    int r = rest_from(table, &pod_interface, now_ms);
    if (r < 0)
        return r;
    disuse(table, &pod_interface);
    sorted_remove(&table->pod_interfaces, &pod_interface);
    return 1;
}
