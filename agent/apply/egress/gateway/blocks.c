// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks of source ports; see blocks.h.
 *
 * The word of a block has its owner and the time of allocation, so a log line may be some seconds
 * late. Each agent logs once all blocks that it finds allocated: a new journal is then complete,
 * and an existing one has some lines twice.
 */
#include "apply/egress/gateway/blocks.h"

#include "base/clock.h"
#include "base/event.h"
#include "base/macro.h"
#include "base/text.h"

int egress_client_id_cmp(const void *a, const void *b)
{
    const struct installed_client *left = a, *right = b;
    return CMP(left->id, right->id);
}

struct egress_block egress_block_of(const struct egress_gate *gate, int family, uint32_t number,
                                    uint64_t word)
{
    const int64_t now_wall_ms = clock_wall_ms();
    const struct egress_layout *layout = &gate->layout;
    uint32_t per = layout->address_blocks;
    uint32_t first = layout->first_port + (per ? number % per : 0) * layout->block_size;
    return (struct egress_block){
        .address = egress_layout_address(layout, family, number),
        .first = (uint16_t)first,
        .last = (uint16_t)(first + layout->block_size - 1u),
        .since_wall_ms = now_wall_ms - (clock_boot_ms() - (int64_t)(uint32_t)word * SECOND_MS),
    };
}

static void tell(const struct egress_gate *gate, const struct log_event *event, uint32_t number,
                 uint64_t word, const struct installed_client *client)
{
    const struct egress_block block =
        egress_block_of(gate, client->address.family == IP_V6, number, word);
    AUTOFREE char *ports = text_format("%u-%u", block.first, block.last);
    char address[IP_STRLEN], at[IP_STRLEN], since[CLOCK_STRLEN];
    log_event(event,
              LOG_FIELDS({ "CLIENT", ip_str(&client->address, address) }, { "OBJECT", client->pod },
                         { "ADDRESS", ip_str(&block.address, at) }, { "PORTS", ports },
                         { "SINCE", clock_rfc3339(block.since_wall_ms, since) }),
              "%s: ports %s %s %s (Pod %s) since %s", at, ports ? ports : "",
              event == &event_ports_given ? "are given to" : "are taken back from, given to",
              address, client->pod ? client->pod : "?", since);
}

static const struct installed_client *client_of(const struct egress_gate *gate, uint32_t id)
{
    sorted_each(const struct installed_client, client, &gate->clients) {
        if (client->id == id)
            return client;
    }
    return NULL;
}

void egress_gate_tell_blocks(struct egress_gate *gate)
{
    for (uint32_t number = 0; number < gate->block_limit; number++) {
        uint64_t word = __atomic_load_n(&gate->blocks[number], __ATOMIC_ACQUIRE);
        if (word == gate->told[number])
            continue;
        const struct installed_client *client = client_of(gate, (uint32_t)(word >> 32));
        if (word && !client) /* allocated while its client was removed, or while an agent exited */
            __atomic_store_n(&gate->blocks[number], 0, __ATOMIC_RELEASE);
        if (!client || !client->pod) /* of an earlier agent: it gets its name soon, or is removed */
            continue;
        tell(gate, &event_ports_given, number, word, client);
        gate->told[number] = word;
    }
}

bool egress_block_take_back(struct egress_gate *gate, uint32_t number)
{
    const uint64_t word = gate->blocks[number];
    const struct installed_client *client = client_of(gate, (uint32_t)(word >> 32));
    if (!client || !client->pod)
        return false;
    tell(gate, &event_ports_taken_back, number, word, client);
    gate->told[number] = 0;
    __atomic_store_n(&gate->blocks[number], 0, __ATOMIC_RELEASE);
    return true;
}

void egress_blocks_free(struct egress_gate *gate, const installed_client_list *gone)
{
    for (uint32_t number = 0; number < gate->block_limit; number++) {
        uint64_t word = gate->blocks[number];
        const struct installed_client key = { .id = (uint32_t)(word >> 32) };
        const struct installed_client *client =
            word ? vec_find(gone, &key, egress_client_id_cmp) : NULL;
        if (!client)
            continue;
        tell(gate, &event_ports_taken_back, number, word, client);
        __atomic_store_n(&gate->blocks[number], 0, __ATOMIC_RELEASE);
        gate->told[number] = 0;
    }
}
