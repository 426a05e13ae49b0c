// SPDX-License-Identifier: Apache-2.0
/*
 * The Bloom filter by which the programs distinguish packets that concern service NAT from all
 * others.
 *
 * Bits are only ever added to the half in force: the flows of a Service need its bits after the
 * Service or an endpoint is gone, because TCP flows continue. From time to time the sweep fills the
 * idle half with everything that is installed, adds the flows that it finds, and puts that half in
 * force. Additions in the meantime are made to both halves.
 */
#include "apply/nat/services/filter.h"
#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/arrays.h"
#include "apply/nat/maps/local.h"
#include "apply/nat/maps/table.h"

static __u64 *word_at(const struct nat_datapath *datapath, uint64_t half, uint64_t hash)
{
    uint32_t words = nat_filter_words(datapath);
    return &datapath->filter[half * words + nat_filter_word(hash, words)];
}

static void add(struct nat_datapath *datapath, uint64_t half, uint64_t hash)
{
    __u64 *word = word_at(datapath, half, hash);
    uint64_t bits = nat_filter_bits(hash);
    if ((*word & bits) != bits)
        nat_word_set(word, *word | bits);
}

void nat_filter_add(struct nat_datapath *datapath, const struct nat_addr *addr, __be16 port)
{
    uint64_t hash = nat_filter_hash(addr, port), half = datapath->control->filter_half;
    add(datapath, half, hash);
    if (datapath->filter_refilling)
        add(datapath, !half, hash);
}

bool nat_filter_has(const struct nat_datapath *datapath, const struct nat_addr *addr, __be16 port)
{
    uint64_t hash = nat_filter_hash(addr, port), bits = nat_filter_bits(hash);
    return (*word_at(datapath, datapath->control->filter_half, hash) & bits) == bits;
}

/*
 * The entry of a node port has the node's own address. The filter has address and port together:
 * with the address alone, every packet to the node would pass the filter.
 */
static __be16 port_of(const struct nat_entry *entry)
{
    return entry->kind == NAT_FRONTEND_NODE_PORT ? entry->key.port : 0;
}

void nat_filter_add_entry(struct nat_datapath *datapath, const struct nat_entry *entry)
{
    nat_filter_add(datapath, &entry->key.addr, port_of(entry));
}

bool nat_filter_has_entry(const struct nat_datapath *datapath, const struct nat_entry *entry)
{
    return nat_filter_has(datapath, &entry->key.addr, port_of(entry));
}

static void add_flow(struct nat_datapath *datapath, uint64_t half, const struct nat_tuple *key,
                     const struct nat_flow *flow)
{
    if (flow->half != NAT_HALF_FORWARD)
        return;
    add(datapath, half, nat_filter_hash(&flow->to.dst, flow->to.dport));
    if (flow->flags & NAT_FLOW_OUTBOUND)
        return;
    add(datapath, half, nat_filter_hash(&key->dst, key->dport));
    /* ICMP errors and later fragments are looked up by the address alone. */
    struct ip address = nat_addr_ip(&key->dst);
    if (!nat_is_local(datapath, &address))
        add(datapath, half, nat_filter_hash(&key->dst, 0));
}

void nat_filter_add_flow(struct nat_datapath *datapath, const struct nat_tuple *key,
                         const struct nat_flow *flow)
{
    add_flow(datapath, !datapath->control->filter_half, key, flow);
}

void nat_filter_refill(struct nat_datapath *datapath)
{
    uint64_t idle = !datapath->control->filter_half;
    uint32_t words = nat_filter_words(datapath);
    for (uint32_t i = 0; i < words; i++)
        nat_word_set(&datapath->filter[idle * words + i], 0);
    datapath->filter_refilling = true;
    datapath->filter_litter = false;
    sorted_each(struct nat_installed *, it, &datapath->installed) {
        vec_each(const struct nat_entry, entry, &(*it)->entries)
            add(datapath, idle, nat_filter_hash(&entry->key.addr, port_of(entry)));
        vec_each(const uint32_t, id, &(*it)->endpoints) {
            const struct nat_endpoint_value *value = &datapath->endpoints[*id];
            add(datapath, idle, nat_filter_hash(&value->addr, value->port));
        }
    }
}

void nat_filter_switch(struct nat_datapath *datapath)
{
    __u64 *half = &datapath->control->filter_half;
    nat_word_set(half, !*half);
    datapath->filter_refilling = false;
}

static int add_flows(struct nat_datapath *datapath)
{
    AUTOWALK struct nat_walk walk;
    nat_table_walk(datapath, NAT_MAP_FLOWS, &walk);
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++)
            nat_filter_add_flow(datapath, nat_walk_key(&walk, i), nat_walk_value(&walk, i));
    }
    return r;
}

int nat_filter_begin(struct nat_datapath *datapath)
{
    datapath->control->filter_words = nat_filter_words(datapath);
    nat_filter_refill(datapath);
    int r = add_flows(datapath);
    if (r < 0) {
        datapath->filter_refilling = false;
        return r;
    }
    nat_filter_switch(datapath);
    return 0;
}
