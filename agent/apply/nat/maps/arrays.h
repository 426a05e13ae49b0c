/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes the arrays that are mapped into the agent's memory: "services", "ports", "slots"
 * and "endpoints". Only the agent writes them; the programs read them concurrently.
 */
#pragma once

#include <arpa/inet.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/maps/addr.h"

/*
 * endpoints[0].addr.words[NAT_GENERATION_WORD] has the generation that was last given to an
 * endpoint, the upper half of services[0] that of a service. Otherwise entry 0 is not in use.
 */
enum { NAT_GENERATION_WORD = 0 };

/* A reader that sees the new word also sees everything that was written before it. */
static inline void nat_word_set(__u64 *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* The bank in force of a service. */
static inline uint32_t nat_service_bank(const struct nat_datapath *datapath, uint32_t service)
{
    return datapath->services[service] & NAT_SERVICE_BANK ? 1 : 0;
}

/* One more than the highest port id. */
static inline uint32_t nat_port_limit(const struct nat_datapath *datapath)
{
    return datapath->maps[NAT_MAP_PORTS].entries / NAT_BANKS;
}

static inline struct nat_port_value *nat_port_at(const struct nat_datapath *datapath, uint32_t port,
                                                 uint32_t bank)
{
    return &datapath->ports[port * NAT_BANKS + bank];
}

/* The word of nat_port_value.sets for `count` slots. */
static inline uint64_t nat_set_of(uint32_t first, uint32_t count)
{
    return (uint64_t)first << 32 | count;
}

/* The slots of a set. NULL, and 0 in `ret_count`, if the word points outside the array. */
static inline const __u64 *nat_set_slots(const struct nat_datapath *datapath, uint64_t set,
                                         uint32_t *ret_count)
{
    uint32_t first = (uint32_t)(set >> 32), count = (uint32_t)set;
    uint32_t entries = datapath->maps[NAT_MAP_SLOTS].entries;
    bool inside = first < entries && count <= entries - first;
    *ret_count = inside ? count : 0;
    return inside ? datapath->slots + first : NULL;
}

/* True if the id belongs to an endpoint of this service that exists. */
static inline bool nat_endpoint_lives(const struct nat_datapath *datapath, uint32_t id,
                                      uint32_t service)
{
    return id > 0 && id < datapath->maps[NAT_MAP_ENDPOINTS].entries &&
           datapath->endpoints[id].protocol != 0 && datapath->endpoints[id].owner == service &&
           (datapath->endpoints[id].state & NAT_ENDPOINT_GENERATION) != 0;
}

/* The address and port of an endpoint id, which must be below the array's size. */
static inline struct nat_endpoint nat_endpoint_of(const struct nat_datapath *datapath, uint32_t id)
{
    const struct nat_endpoint_value *value = &datapath->endpoints[id];
    return (struct nat_endpoint){ nat_addr_ip(&value->addr), ntohs(value->port) };
}

/* The same, with its protocol. */
static inline struct nat_stored nat_stored_of(const struct nat_datapath *datapath, uint32_t id)
{
    return (struct nat_stored){ nat_endpoint_of(datapath, id), datapath->endpoints[id].protocol };
}

/* The slot that points to an endpoint as it is now. */
static inline uint64_t nat_slot_of(const struct nat_datapath *datapath, uint32_t id)
{
    return (uint64_t)id << 32 | (datapath->endpoints[id].state & NAT_ENDPOINT_GENERATION);
}
