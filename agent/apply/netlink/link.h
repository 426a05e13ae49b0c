/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links: the kernel's word about one, and the requests that make, change, move and delete one.
 *
 * Every request names a link by its index, which the link keeps when it is renamed; only in another
 * namespace it may get another. `result` (may be NULL) has the kernel's own words on failure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"

enum {
    NL_LINK_NAMELEN = 16, /* IFNAMSIZ */
    NL_LINK_ALIASLEN = 256,
};

struct nl_link {
    uint32_t ifindex;
    uint32_t mtu;
    uint32_t master;   /* bridge, bond, VRF, ... that it is a port of; 0: none */
    uint32_t peer;     /* a veth's other end, a VLAN's lower link, ...; 0: none */
    int32_t peer_nsid; /* the number that this namespace has for the peer's; -1: they share one */
    uint16_t type;     /* ARPHRD_* of linux/if_arp.h */
    bool up;           /* administratively */
    bool unplugged;    /* up, and without carrier */
    bool arp;          /* it asks for neighbours */
    bool one_peer;     /* at the other end is one host (IFF_POINTOPOINT) */
    bool v6_generates; /* it makes IPv6 addresses for itself; false without IPv6 */
    uint8_t mac[6];    /* zeros if its address is not an Ethernet one */
    char name[NL_LINK_NAMELEN];
    char kind[16]; /* "veth", "bridge", ...; "" of hardware and the loopback; a longer one is cut */
    char alias[NL_LINK_ALIASLEN];
};

/* False for a message that is malformed, partial, or of a bridge's ports only. */
bool nl_link_decode(const struct nlmsghdr *message, struct nl_link *ret_link);

/* Reads one, by index or by name. Returns 0, -ENODEV if there is none, or -errno. */
int nl_link_read(struct nl_socket *socket, uint32_t ifindex, struct nl_link *ret_link);
int nl_link_find(struct nl_socket *socket, const char *name, struct nl_link *ret_link);

/* One end of a veth pair that shall be made. */
struct nl_veth {
    const char *name;
    const uint8_t *mac; /* 6 bytes; NULL: the kernel's choice */
    uint32_t mtu;       /* 0: the kernel's choice */
};

/*
 * Makes a pair, both ends down: one where the socket is, its peer in the namespace that the
 * descriptor `netns` stands for, or beside it (NL_HERE). Returns 0, -EEXIST if either name is
 * taken, -EINVAL if the descriptor is none of a namespace, or -errno; nothing was made then.
 */
int nl_link_add_veth(struct nl_socket *socket, const struct nl_veth *end,
                     const struct nl_veth *peer, int netns, struct nl_result *result);

/* What shall change; what is left at zero stays as it is. */
struct nl_link_change {
    const char *alias;  /* shorter than NL_LINK_ALIASLEN; "" takes it off */
    const uint8_t *mac; /* 6 bytes */
    uint32_t mtu;
    bool no_arp;
    bool no_v6_addresses; /* that it would make for itself; before it comes up, or it has one */
    enum { NL_LINK_KEEP, NL_LINK_UP, NL_LINK_DOWN } state;
};

/*
 * The state changes before the IPv6 setting does: who wants both asks twice. Returns 0, -ENODEV, or
 * -errno.
 */
int nl_link_change(struct nl_socket *socket, uint32_t ifindex, const struct nl_link_change *change,
                   struct nl_result *result);

/*
 * Moves a link into another namespace, under this name (NULL: its own). It is down afterwards, has
 * no addresses, and may have another index. Returns 0, -ENODEV, -EEXIST if the name is taken there,
 * or -errno.
 */
int nl_link_move(struct nl_socket *socket, uint32_t ifindex, int netns, const char *name,
                 struct nl_result *result);

/* Deletes a link; a veth's peer goes with it, wherever it is. Returns 0, -ENODEV, or -errno. */
int nl_link_delete(struct nl_socket *socket, uint32_t ifindex, struct nl_result *result);
