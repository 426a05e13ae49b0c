// SPDX-License-Identifier: Apache-2.0
/*
 * The Bloom filter, by which the programs tell packets that concern service NAT from all others.
 *
 * Bits are only ever added to the half in force: the flows of a Service need its bits after the
 * Service or an endpoint is gone, because TCP goes on. From time to time the sweep fills the idle
 * half with all that is installed, adds the flows that it meets, and puts that half in force. What
 * is added in the meantime goes into both halves.
 */
#include "apply/nat/services/filter.h"
#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/arrays.h"
#include "apply/nat/maps/local.h"
#include "apply/nat/maps/table.h"

static __u64 *word_at(const struct nat_plane *plane, uint64_t half, uint64_t hash)
{
    uint32_t words = nat_filter_words(plane);
    return &plane->filter[half * words + nat_filter_word(hash, words)];
}

static void add(struct nat_plane *plane, uint64_t half, uint64_t hash)
{
    __u64 *word = word_at(plane, half, hash);
    uint64_t bits = nat_filter_bits(hash);
    if ((*word & bits) != bits)
        nat_word_set(word, *word | bits);
}

void nat_filter_add(struct nat_plane *plane, const struct nat_addr *addr, __be16 port)
{
    uint64_t hash = nat_filter_hash(addr, port), half = plane->control->filter_half;
    add(plane, half, hash);
    if (plane->filter_refilling)
        add(plane, !half, hash);
}

bool nat_filter_has(const struct nat_plane *plane, const struct nat_addr *addr, __be16 port)
{
    uint64_t hash = nat_filter_hash(addr, port), bits = nat_filter_bits(hash);
    return (*word_at(plane, plane->control->filter_half, hash) & bits) == bits;
}

/*
 * The entry of a node port has the node's own address. Address and port together are in the filter:
 * the address alone would make every packet to the node pass it.
 */
static __be16 port_of(const struct nat_entry *entry)
{
    return entry->kind == NAT_FRONTEND_NODE_PORT ? entry->key.port : 0;
}

void nat_filter_add_entry(struct nat_plane *plane, const struct nat_entry *entry)
{
    nat_filter_add(plane, &entry->key.addr, port_of(entry));
}

bool nat_filter_has_entry(const struct nat_plane *plane, const struct nat_entry *entry)
{
    return nat_filter_has(plane, &entry->key.addr, port_of(entry));
}

static void add_flow(struct nat_plane *plane, uint64_t half, const struct nat_tuple *key,
                     const struct nat_flow *flow)
{
    if (flow->half != NAT_HALF_FORWARD)
        return;
    add(plane, half, nat_filter_hash(&flow->to.dst, flow->to.dport));
    if (flow->flags & NAT_FLOW_OUTBOUND)
        return;
    add(plane, half, nat_filter_hash(&key->dst, key->dport));
    /* ICMP errors and later fragments are looked up by the address alone. */
    struct ip address = nat_addr_ip(&key->dst);
    if (!nat_is_local(plane, &address))
        add(plane, half, nat_filter_hash(&key->dst, 0));
}

void nat_filter_add_flow(struct nat_plane *plane, const struct nat_tuple *key,
                         const struct nat_flow *flow)
{
    add_flow(plane, !plane->control->filter_half, key, flow);
}

void nat_filter_refill(struct nat_plane *plane)
{
    uint64_t idle = !plane->control->filter_half;
    uint32_t words = nat_filter_words(plane);
    for (uint32_t i = 0; i < words; i++)
        nat_word_set(&plane->filter[idle * words + i], 0);
    plane->filter_refilling = true;
    plane->filter_litter = false;
    sorted_each(struct nat_installed *, it, &plane->installed) {
        vec_each(const struct nat_entry, entry, &(*it)->entries)
            add(plane, idle, nat_filter_hash(&entry->key.addr, port_of(entry)));
        vec_each(const uint32_t, id, &(*it)->endpoints) {
            const struct nat_endpoint_value *value = &plane->endpoints[*id];
            add(plane, idle, nat_filter_hash(&value->addr, value->port));
        }
    }
}

void nat_filter_switch(struct nat_plane *plane)
{
    __u64 *half = &plane->control->filter_half;
    nat_word_set(half, !*half);
    plane->filter_refilling = false;
}

static int add_flows(struct nat_plane *plane)
{
    AUTOWALK struct nat_walk walk;
    nat_table_walk(plane, NAT_MAP_FLOWS, &walk);
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++)
            nat_filter_add_flow(plane, nat_walk_key(&walk, i), nat_walk_value(&walk, i));
    }
    return r;
}

int nat_filter_begin(struct nat_plane *plane)
{
    plane->control->filter_words = nat_filter_words(plane);
    nat_filter_refill(plane);
    int r = add_flows(plane);
    if (r < 0) {
        plane->filter_refilling = false;
        return r;
    }
    nat_filter_switch(plane);
    return 0;
}
