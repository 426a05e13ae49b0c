/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of this node's pods: the blocks that this node has, who has which address of them,
 * and which one comes next. Pure values; time comes in, as wall time, since the age of a freed
 * address has to outlive the process.
 *
 * A pod interface has one address of each family that its block has, both at one offset. An address
 * that was freed rests for a while, so that late packets to the pod before do not meet the pod
 * behind it; the one that has rested longest is the next. Where nothing else is free, who asks
 * decides how far a rest gives way (pod_addresses_freed_ms()). Fuller blocks are filled first, so
 * that the others become empty and can be given back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "plan/pods/pod_interface.h"

/* Of a larger block only so many addresses are given. */
enum { POD_BLOCK_SIZE_MAX = 65536 };

struct pod_block {
    char name[POD_INTERFACE_NAME_MAX + 1], pool[POD_INTERFACE_NAME_MAX + 1];
    struct prefix ipv4, ipv6; /* family IP_NONE: none */
    bool reserved;            /* Coil's label: neither given out of nor given back */
    bool closed;              /* nothing is given out of it any more: it is on its way back */
    int64_t since_ms;         /* when this node learned of it; kept while it is there */
};

/* When an address was freed. Of two families the IPv4 one stands for both. */
struct pod_rest {
    struct ip ip;
    int64_t freed_ms;
};

struct pod_addresses {
    struct sorted pod_interfaces; /* struct pod interface, by pod_interface_cmp() */
    struct sorted blocks;         /* struct pod_block, by name */
    struct sorted used;           /* struct ip: of pod interfaces */
    struct sorted unowned;        /* struct ip: of nobody that is known, but in use */
    struct sorted rests;          /* struct pod_rest, by ip */
};

typedef VEC(struct pod_block) pod_block_list;

void pod_addresses_init(struct pod_addresses *table);
void pod_addresses_done(struct pod_addresses *table);

/*
 * Takes these for the blocks of this node; what is known of a block by its name is kept. Rests of
 * addresses that lie in no block any more are forgotten if `all` says that the list is known to be
 * complete. Returns 0 or -ENOMEM.
 */
int pod_addresses_set_blocks(struct pod_addresses *table, const pod_block_list *blocks, bool all,
                             int64_t now_ms);

/* Takes these (struct ip) for the addresses that are in use by nobody that is known. 0 or -ENOMEM.
 */
int pod_addresses_set_unowned(struct pod_addresses *table, const ip_list *unowned);

/*
 * Chooses addresses for a pod interface out of the blocks of its pool, and fills them in; nothing
 * is entered. An address that was freed less than `rest_ms` ago is chosen only if there is no
 * other. Returns false if there is none.
 */
bool pod_addresses_choose(const struct pod_addresses *table, int64_t now_ms, int64_t rest_ms,
                          struct pod_interface *pod_interface);

/*
 * When what was chosen for a pod interface was freed last; 0: never, as far as is known. Of what
 * rests the choice falls on the one that has rested longest.
 */
int64_t pod_addresses_freed_ms(const struct pod_addresses *table,
                               const struct pod_interface *chosen);

/* Enters a pod interface with its addresses, or other ones for it. Returns 0 or -ENOMEM. */
int pod_addresses_put(struct pod_addresses *table, const struct pod_interface *pod_interface);

/* Takes a pod interface out; its addresses rest from now on. Returns 1, 0 if there was none,
 * -ENOMEM. */
int pod_addresses_free(struct pod_addresses *table, const struct pod_interface *key,
                       int64_t now_ms);

/* The block of this node that an address is in; NULL: none. */
const struct pod_block *pod_block_at(const struct pod_addresses *table, const struct ip *ip);
struct pod_block *pod_block_named(const struct pod_addresses *table, const char *name);

/*
 * The address of this family that goes with `ip`: at the same offset of its block. False: the
 * address is in no block, or the block has no such family.
 */
bool pod_address_beside(const struct pod_addresses *table, const struct ip *ip, uint8_t family,
                        struct ip *ret_ip);

/* How many addresses are given of a block. */
uint32_t pod_block_size(const struct pod_block *block);
/* How many of them are in use, by pod interfaces and unowned addresses. */
uint32_t pod_block_used(const struct pod_addresses *table, const struct pod_block *block);
/* Since when (wall time) a block in which nothing is in use is empty. */
int64_t pod_block_empty_ms(const struct pod_addresses *table, const struct pod_block *block);
