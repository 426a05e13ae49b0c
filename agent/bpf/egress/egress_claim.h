/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Source ports of an egress gateway. Each client has its own blocks of ports, so that the client
 * that used a port can be determined from the owner of its block. A client gets a further block
 * when all of its ports are in use for the same destination, up to control.client_blocks.
 *
 * With several source addresses, clients are spread over them, and each client keeps one: a server
 * sees one address for all of a client's connections (RFC 4787, REQ-2). A client gets a block of
 * another address only when all blocks of its address are allocated.
 *
 * A port is free or taken for each destination: the reply's tuple is claimed as for a Service
 * (claim.h). The search goes over all ports of the client, from where the last one ended, so that
 * the port assigned longest ago comes first; it fails only if each has a flow that is worth more
 * than the new one.
 */
#pragma once

#include "bpf/egress/egress_owner.h"

#include "bpf/egress/egress_drop.h"
#include "bpf/egress/egress_source.h"
#include "bpf/nat/begin.h"

ALWAYS_INLINE __u32 now_boot_s(void)
{
    return (__u32)(bpf_ktime_get_boot_ns() / 1000000000ull);
}

/* Searches blocks first to first + count - 1, beginning with number first + start. */
struct block_search {
    __u32 client, found; /* its number + 1 */
    __u32 first, count, start;
    __u32 six;
};

static long block_step(__u32 step, void *context)
{
    struct block_search *search = context;
    const struct egress_control *settings = egress_control_get();
    if (!settings || search->count == 0 || settings->address_blocks == 0)
        return 1;
    __u32 number = search->first + (search->start + step) % search->count;
    __u64 *owner = bpf_map_lookup_elem(&egress_blocks, &number);
    if (!owner)
        return 1;
    if (READ_ONCE(*owner) ||
        !source_numbered(settings, (int)search->six, number / settings->address_blocks))
        return 0;
    __u64 word = (__u64)search->client << 32 | now_boot_s();
    if (__sync_val_compare_and_swap(owner, 0, word) != 0)
        return 0;
    search->found = number + 1;
    return 1;
}

/*
 * Finds a free block: of the address of which the client already has blocks, otherwise of any.
 * Returns its number + 1, or 0. The search starts behind the block allocated last.
 */
GLOBAL __u32 block_find(__u32 client, __u32 six)
{
    const struct egress_control *settings = egress_control_get();
    const struct egress_ports_value *ports = ports_of(client), *all = ports_of(0);
    if (!settings || !ports || !all)
        return 0;
    __u32 per = settings->address_blocks, sources = settings->sources[six & 1];
    __u32 block = READ_ONCE(ports->blocks[0]);
    if (per == 0 || sources == 0 || sources > EGRESS_SOURCES_MAX)
        return 0;
    __u32 home = block ? (block - 1) / per : client % sources;
    struct block_search search = {
        .client = client,
        .first = home * per,
        .count = per,
        .start = READ_ONCE(all->next) % per,
        .six = six,
    };
    if (source_numbered(settings, (int)six, home))
        bpf_loop(per, block_step, &search, 0);
    if (search.found || sources == 1)
        return search.found;
    search.start = search.first + per;
    search.first = 0;
    search.count = per * sources;
    bpf_loop(per * sources, block_step, &search, 0);
    return search.found;
}

/* Allocates one more block to a client. Returns its number + 1, or 0: the client has the maximum,
 * or none is free. */
GLOBAL __u32 block_take(__u32 client, __u32 six)
{
    const struct egress_control *settings = egress_control_get();
    struct egress_ports_value *ports = ports_of(client), *all = ports_of(0);
    if (!settings || !ports || !all)
        return 0;
    __u32 most =
        settings->client_blocks < EGRESS_BLOCKS_MAX ? settings->client_blocks : EGRESS_BLOCKS_MAX;
    __u32 at = __sync_fetch_and_add(&ports->count, 1);
    __u32 found = at < most ? block_find(client, six) : 0;
    barrier_var(at); /* Linux 6.1 derives no bound from `most`: it has to be checked again */
    if (!found || at >= EGRESS_BLOCKS_MAX) {
        __sync_fetch_and_add(&ports->count, -1);
        return 0;
    }
    WRITE_ONCE(all->next, found);
    WRITE_ONCE(ports->blocks[at], (__u16)found);
    return found;
}

/* Sets the reply's destination to address and port number n of the client's ports. Returns 0: there
 * is none, or none yet, or the replies would be taken for FoU. */
ALWAYS_INLINE int port_put(const struct egress_control *settings,
                           const struct egress_ports_value *ports, __u32 n, struct claim *claim)
{
    __u32 size = settings->block_size, per = settings->address_blocks;
    __u32 index = size && per ? n / size : EGRESS_BLOCKS_MAX;
    if (index >= EGRESS_BLOCKS_MAX)
        return 0;
    barrier_var(index);
    __u32 block = READ_ONCE(ports->blocks[index & (EGRESS_BLOCKS_MAX - 1)]);
    if (!block)
        return 0;
    const struct nat_addr *source =
        source_numbered(settings, claim->family == 6, (block - 1) / per);
    if (!source)
        return 0;
    claim->reply.dst = *source;
    claim->reply.dport =
        bpf_htons((__u16)(settings->snat_first + (block - 1) % per * size + n % size));
    return !is_for_gateway(settings, claim->family == 6, &claim->reply);
}

static long port_step(__u32 step, void *context)
{
    struct __sk_buff *skb = *(struct __sk_buff **)context;
    const struct nat_control *control = control_get();
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    if (!control || !settings || !room)
        return 1;
    struct claim *claim = &room->claim;
    struct egress_ports_value *ports = ports_of(claim->value.port);
    if (!ports || (!claim->keep && claim->first == 0))
        return 1;
    __u32 n =
        claim->keep ? claim->first + step : __sync_fetch_and_add(&ports->next, 1) % claim->first;
    claim->searched++;
    if (!port_put(settings, ports, n, claim))
        return 0;
    if (filter_has(control, &claim->reply.dst, claim->reply.dport))
        return 0; /* a node port */
    __u32 price = claim_tuple(skb, WORTH_NOTHING, claim->sockets);
    if (price == 0) {
        claim->done = 1;
        return 1;
    }
    if (price < claim->price) {
        claim->price = price;
        claim->candidate_at = n;
    }
    return 0;
}

/* Tries `count` ports: those from number `first` on in their order (`keep`), or, of the first
 * `first` ports, the next ones of the search. */
ALWAYS_INLINE int ports_try(struct __sk_buff *skb, struct claim *claim, __u32 first, __u32 count,
                            int keep)
{
    claim->first = first;
    claim->count = count;
    claim->keep = keep;
    bpf_loop(count < CLAIM_STEPS ? count : CLAIM_STEPS, port_step, &skb, 0);
    return claim->done;
}

ALWAYS_INLINE int port_search(struct __sk_buff *skb, const struct egress_control *settings,
                              struct claim *claim)
{
    struct egress_ports_value *ports = ports_of(claim->value.port);
    struct nat_pressure *state = pressure_get();
    if (!ports || !state)
        return -EGRESS_CAUSE_PORTS;
    claim->price = PRICE(WORTH_ALL);
    __u32 have = READ_ONCE(ports->count), size = settings->block_size;
    if (have > EGRESS_BLOCKS_MAX)
        have = EGRESS_BLOCKS_MAX;
    __u32 count = have * size;
    if (ports->failed_s == now_s() && count > CLAIM_STEPS_FULL)
        count = CLAIM_STEPS_FULL;
    if (count && ports_try(skb, claim, have * size, count, 0))
        return 1;
    __sync_fetch_and_add(&state->ports_searched, 1);
    __u32 block = block_take(claim->value.port, claim->family == 6);
    if (block && ports_try(skb, claim, have * size, size, 1))
        return 1;
    if (claim->price < PRICE(WORTH_ALL) && port_put(settings, ports, claim->candidate_at, claim)) {
        if (claim_tuple(skb, claim->price >> 8, claim->sockets) == 0) {
            __sync_fetch_and_add(&state->ports_dropped, 1);
            return 1;
        }
    }
    if (count == have * size)
        ports->failed_s = now_s();
    __sync_fetch_and_add(&state->ports_refused, 1);
    return have ? -EGRESS_CAUSE_PORTS : -EGRESS_CAUSE_BLOCKS;
}

/*
 * Claims a reply tuple for the claim in the scratch space, whose value names the client. Returns 1,
 * or -cause.
 */
GLOBAL int egress_claim(struct __sk_buff *skb)
{
    const struct egress_control *settings = egress_control_get();
    struct egress_ports_value *all = ports_of(0);
    struct scratch *room = scratch_get();
    if (!settings || !all || !room)
        return -EGRESS_CAUSE_PORTS;
    room->claim.searched = 0;
    int found = port_search(skb, settings, &room->claim);
    if (room->claim.searched > READ_ONCE(all->longest))
        WRITE_ONCE(all->longest, room->claim.searched);
    return found;
}
