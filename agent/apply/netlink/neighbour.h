/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbours: entries that are set and stay (permanent), addresses that are answered for (proxy),
 * and the state of all, as the kernel has it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "base/vec.h"

struct nl_neighbour {
    uint32_t ifindex;
    struct ip ip;
    bool proxy;     /* no neighbour: this link answers for the address; without MAC and state */
    uint16_t state; /* NUD_*: of what was read; what is added is NUD_PERMANENT */
    uint8_t mac[6]; /* zeros: not known */
};

typedef VEC(struct nl_neighbour) nl_neighbour_list;

/* False for a message that is malformed or of another family than IPv4 and IPv6. */
bool nl_neighbour_decode(const struct nlmsghdr *message, struct nl_neighbour *ret_neighbour);

/*
 * Adds a permanent neighbour, or a proxy. One that is there, learnt or set, becomes this one.
 * Returns 0, -ENODEV, or -errno; `result` (may be NULL) has the kernel's own words.
 */
int nl_neighbour_set(struct nl_socket *socket, const struct nl_neighbour *neighbour,
                     struct nl_result *result);

/*
 * Whether a neighbour answers, as far as the kernel knows. Where that was long ago, or is not
 * known, the kernel is made to find out, as by a packet to it: ask again in a second or two.
 * Returns 0 or -errno.
 */
int nl_neighbour_check(struct nl_socket *socket, uint32_t ifindex, const struct ip *ip,
                       bool *ret_answers);

/* Reads one. Returns 0, -ENOENT, or -errno. */
int nl_neighbour_get(struct nl_socket *socket, uint32_t ifindex, const struct ip *ip,
                     struct nl_neighbour *ret_neighbour);

/* Whether it has the MAC address of one host for good: the kernel asks nobody for it. */
bool nl_neighbour_is_set(const struct nl_neighbour *neighbour);

/* Deletes the one of this interface, address and sort. Returns 0, -ENOENT, or -errno. */
int nl_neighbour_delete(struct nl_socket *socket, const struct nl_neighbour *neighbour,
                        struct nl_result *result);

/*
 * Reads an interface's neighbours (or, with `proxy`, what it answers for), IPv4 first. The caller
 * ends the list by vec_done(). Returns 0 or -errno with the list untouched. An interface that does
 * not exist has none.
 */
int nl_neighbour_dump(struct nl_socket *socket, uint32_t ifindex, bool proxy,
                      nl_neighbour_list *ret_neighbours);
