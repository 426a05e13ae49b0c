/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbours: permanent entries, proxy entries, and the state of all entries, as the kernel has it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "base/vec.h"

struct nl_neighbour {
    uint32_t ifindex;
    struct ip ip;
    bool proxy;     /* a proxy entry: this link answers for the address; without MAC and state */
    uint16_t state; /* NUD_*: as read; entries that are added are NUD_PERMANENT */
    uint8_t mac[6]; /* zeros: not known */
};

typedef VEC(struct nl_neighbour) nl_neighbour_list;

/* False for a message that is malformed or of another family than IPv4 and IPv6. */
bool nl_neighbour_decode(const struct nlmsghdr *message, struct nl_neighbour *ret_neighbour);

/*
 * Adds a permanent neighbour, or a proxy. Replaces an entry that exists, learnt or set. Returns 0,
 * -ENODEV, or -errno; `result` (may be NULL) has the kernel's error text.
 */
int nl_neighbour_set(struct nl_socket *socket, const struct nl_neighbour *neighbour,
                     struct nl_result *result);

/*
 * Whether a neighbour is reachable, according to the kernel. If that state is old or unknown, the
 * kernel is made to probe the neighbour, as by a packet to it: call again in a second or two.
 * Returns 0 or -errno.
 */
int nl_neighbour_check(struct nl_socket *socket, uint32_t ifindex, const struct ip *ip,
                       bool *ret_answers);

/* Reads one. Returns 0, -ENOENT, or -errno. */
int nl_neighbour_get(struct nl_socket *socket, uint32_t ifindex, const struct ip *ip,
                     struct nl_neighbour *ret_neighbour);

/* Whether the entry has a permanent MAC address of one host: the kernel does not resolve it. */
bool nl_neighbour_is_set(const struct nl_neighbour *neighbour);

/* Deletes the entry with this interface, address and kind. Returns 0, -ENOENT, or -errno. */
int nl_neighbour_delete(struct nl_socket *socket, const struct nl_neighbour *neighbour,
                        struct nl_result *result);

/*
 * Reads an interface's neighbours (or, with `proxy`, the addresses for which it answers), IPv4
 * first. The caller frees the list by vec_done(). Returns 0 or -errno with the list unchanged. An
 * interface that does not exist has none.
 */
int nl_neighbour_dump(struct nl_socket *socket, uint32_t ifindex, bool proxy,
                      nl_neighbour_list *ret_neighbours);
