// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks without flows; see idle.h.
 *
 * A flow is in the table until its timeout ends, and each round of the sweep marks the blocks whose
 * ports flows use. A block that was idle for REST_MS is removed from its client's row, so that no
 * search finds it. It is freed after one more whole round without a flow, since a search that was
 * in progress may have added one.
 *
 * The row is a list without gaps to which programs append at any time: first they increment the
 * count, then they write the number. So a block is removed by writing the last one into its place;
 * then the count is decremented, unless a program has changed it meanwhile. A number that is in the
 * row twice for a moment, or not at all, costs searches only one more attempt.
 *
 * A block that has an owner but is not in the owner's row was left by an agent that exited in
 * between.
 */
#include "apply/egress/gateway/idle.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "apply/egress/gateway/blocks.h"
#include "apply/egress/seen.h"
#include "apply/nat/maps/addr.h"
#include "base/clock.h"

enum { REST_MS = 10 * 1000 };

struct egress_idle {
    uint64_t word;    /* the owner for which the other fields are valid */
    int64_t since_ms; /* monotonic: the end of the first round without a flow; 0: it has flows */
    bool used;        /* in this round, or in one that failed */
};

static void note_flow(void *context, const struct nat_tuple *reply)
{
    struct egress_gate *gate = context;
    const struct egress_layout *layout = &gate->layout;
    const struct ip source = nat_addr_ip(&reply->dst);
    const int place = egress_layout_find(layout, &source);
    const uint32_t port = ntohs(reply->dport);
    if (place < 0 || layout->block_size == 0 || port < layout->first_port)
        return;
    const uint32_t at = (port - layout->first_port) / layout->block_size;
    const uint32_t number = (uint32_t)place * layout->address_blocks + at;
    if (at < layout->address_blocks && number < gate->block_limit)
        gate->idle[number].used = true;
}

/* The index of a block in its client's row; -1: it is not in the row. */
static int index_of(const struct egress_ports_value *ports, uint32_t number)
{
    for (int i = 0; i < EGRESS_BLOCKS_MAX; i++) {
        if (__atomic_load_n(&ports->blocks[i], __ATOMIC_ACQUIRE) == number + 1)
            return i;
    }
    return -1;
}

/* Removes the block at `index` from a client's row. False: a program is appending just now. */
static bool take_out(struct egress_ports_value *ports, uint32_t index)
{
    uint32_t count = __atomic_load_n(&ports->count, __ATOMIC_ACQUIRE);
    if (count <= index || count > EGRESS_BLOCKS_MAX)
        return false;
    const __u16 block = ports->blocks[index];
    __u16 last = __atomic_load_n(&ports->blocks[count - 1], __ATOMIC_ACQUIRE);
    if (!last)
        return false;
    __atomic_store_n(&ports->blocks[index], last, __ATOMIC_RELEASE);
    if (!__atomic_compare_exchange_n(&ports->count, &count, count - 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&ports->blocks[index], block, __ATOMIC_RELEASE);
        return false;
    }
    (void)__atomic_compare_exchange_n(&ports->blocks[count - 1], &last, 0, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE);
    return true;
}

/* A block without a flow in this round, and in the previous one. */
static void end_idle(struct egress_gate *gate, uint32_t number, int64_t now_ms)
{
    struct egress_idle *idle = &gate->idle[number];
    const uint32_t client = (uint32_t)(gate->blocks[number] >> 32);
    if (client >= gate->client_limit)
        return;
    const int index = index_of(&gate->ports[client], number);
    if (index < 0)
        idle->since_ms = egress_block_take_back(gate, number) ? 0 : now_ms;
    else if (index > 0 && now_ms - idle->since_ms >= REST_MS &&
             take_out(&gate->ports[client], (uint32_t)index))
        idle->since_ms = now_ms;
}

static void end_round(void *context, int64_t now_ms)
{
    struct egress_gate *gate = context;
    for (uint32_t number = 0; number < gate->block_limit; number++) {
        struct egress_idle *idle = &gate->idle[number];
        const uint64_t word = __atomic_load_n(&gate->blocks[number], __ATOMIC_ACQUIRE);
        if (!word && !idle->word)
            continue;
        if (idle->used || idle->word != word)
            *idle = (struct egress_idle){ .word = word };
        else if (!idle->since_ms)
            idle->since_ms = now_ms;
        else
            end_idle(gate, number, now_ms);
    }
}

void egress_gate_holders(const struct egress_gate *gate, struct egress_holders *ret_holders)
{
    *ret_holders = (struct egress_holders){ 0 };
    sorted_each(const struct installed_client, client, &gate->clients) {
        const struct egress_ports_value *ports = &gate->ports[client->id];
        uint32_t count = 0, idle = 0;
        for (uint32_t i = 0; i < EGRESS_BLOCKS_MAX; i++) {
            const uint32_t number = ports->blocks[i];
            if (!number || number > gate->block_limit)
                continue;
            count++;
            idle += gate->idle[number - 1].since_ms != 0;
        }
        ret_holders->clients += count > 0;
        ret_holders->idle += count > 0 && idle == count;
        ret_holders->blocks += count;
        if (count > ret_holders->most) {
            ret_holders->most = count;
            ret_holders->address = client->address;
        }
    }
}

static const struct nat_flow_counter counter = { note_flow, end_round };

int egress_idle_start(struct egress_gate *gate)
{
    gate->idle = calloc(gate->block_limit, sizeof(*gate->idle));
    if (!gate->idle)
        return -ENOMEM;
    nat_datapath_set_counter(gate->nat, &counter, gate);
    return 0;
}

void egress_idle_done(struct egress_gate *gate)
{
    nat_datapath_set_counter(gate->nat, NULL, NULL);
    free(gate->idle);
}
