/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of this node's pods: the blocks of this node, which pod interface has which
 * address, and which address is next. Pure values; time is an argument, as wall time, since the age
 * of a freed address must survive the process.
 *
 * A pod interface has one address of each family that its block has, both at the same offset. A
 * freed address is kept in cooldown, so that late packets to the previous pod do not reach the next
 * one; the address with the longest cooldown is next. If no other is free, the caller decides about
 * using an address in cooldown (pod_addresses_freed_ms()). Fuller blocks are filled first, so that
 * the others become empty and can be released.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "plan/pods/pod_interface.h"

/* Of a larger block only this number of addresses is used. */
enum { POD_BLOCK_SIZE_MAX = 65536 };

struct pod_block {
    char name[POD_INTERFACE_NAME_MAX + 1], pool[POD_INTERFACE_NAME_MAX + 1];
    struct prefix ipv4, ipv6; /* family IP_NONE: none */
    bool reserved;            /* Coil's label: no allocations from it, and never released */
    bool closed;              /* no more allocations: it is being released */
    int64_t since_ms;         /* when this node first saw it; kept while it exists */
};

/* When an address was freed. With two families the IPv4 one represents both. */
struct pod_rest {
    struct ip ip;
    int64_t freed_ms;
};

struct pod_addresses {
    struct sorted pod_interfaces; /* struct pod interface, by pod_interface_cmp() */
    struct sorted blocks;         /* struct pod_block, by name */
    struct sorted used;           /* struct ip: of pod interfaces */
    struct sorted unowned;        /* struct ip: in use, without a known owner */
    struct sorted rests;          /* struct pod_rest, by ip */
};

typedef VEC(struct pod_block) pod_block_list;

void pod_addresses_init(struct pod_addresses *table);
void pod_addresses_done(struct pod_addresses *table);

/*
 * Sets the blocks of this node; the state of a block is kept by its name. Cooldowns of addresses
 * that are no longer in a block are dropped if the list is complete (`all`). Returns 0 or -ENOMEM.
 */
int pod_addresses_set_blocks(struct pod_addresses *table, const pod_block_list *blocks, bool all,
                             int64_t now_ms);

/* Sets the addresses (struct ip) in use without a known owner. Returns 0 or -ENOMEM. */
int pod_addresses_set_unowned(struct pod_addresses *table, const ip_list *unowned);

/*
 * Chooses addresses for a pod interface from the blocks of its pool, and fills them in; the table
 * is unchanged. An address that was freed less than `rest_ms` ago is chosen only if there is no
 * other. Returns false if there is none.
 */
bool pod_addresses_choose(const struct pod_addresses *table, int64_t now_ms, int64_t rest_ms,
                          struct pod_interface *pod_interface);

/*
 * When the address chosen for a pod interface was last freed; 0: never, as far as known. Of
 * addresses in cooldown the one that was freed first is chosen.
 */
int64_t pod_addresses_freed_ms(const struct pod_addresses *table,
                               const struct pod_interface *chosen);

/* Adds a pod interface with its addresses, or replaces its addresses. Returns 0 or -ENOMEM. */
int pod_addresses_put(struct pod_addresses *table, const struct pod_interface *pod_interface);

/* Removes a pod interface; the cooldown of its addresses starts now. Returns 1, 0 if there was
 * none, -ENOMEM. */
int pod_addresses_free(struct pod_addresses *table, const struct pod_interface *key,
                       int64_t now_ms);

/* The block of this node that an address is in; NULL: none. */
const struct pod_block *pod_block_at(const struct pod_addresses *table, const struct ip *ip);
struct pod_block *pod_block_named(const struct pod_addresses *table, const char *name);

/*
 * The address of this family that belongs to `ip`: at the same offset of its block. False: the
 * address is in no block, or the block has no such family.
 */
bool pod_address_beside(const struct pod_addresses *table, const struct ip *ip, uint8_t family,
                        struct ip *ret_ip);

/* The number of usable addresses of a block. */
uint32_t pod_block_size(const struct pod_block *block);
/* How many of them are in use, by pod interfaces and unowned addresses. */
uint32_t pod_block_used(const struct pod_addresses *table, const struct pod_block *block);
/* Since when (wall time) a block in which nothing is in use is empty. */
int64_t pod_block_empty_ms(const struct pod_addresses *table, const struct pod_block *block);
