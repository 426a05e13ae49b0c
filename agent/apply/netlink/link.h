/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links: decodes them, and makes the requests that create, change, move and delete one.
 *
 * Every request identifies a link by its index, which stays the same when the link is renamed; only
 * in another namespace the index may change. `result` (may be NULL) has the kernel's error text.
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
    int32_t peer_nsid; /* this namespace's number for the peer's namespace; -1: it is the same
                          namespace */
    uint16_t type;     /* ARPHRD_* of linux/if_arp.h */
    bool up;           /* administratively */
    bool unplugged;    /* up, but without carrier */
    bool arp;          /* it resolves neighbours */
    bool one_peer;     /* the remote end is one host (IFF_POINTOPOINT) */
    bool v6_generates; /* the kernel generates IPv6 addresses on it; false without IPv6 */
    uint8_t mac[6];    /* zeros if its address is not an Ethernet one */
    char name[NL_LINK_NAMELEN];
    char kind[16]; /* "veth", "bridge", ...; "" for hardware and the loopback; a longer one is
                      truncated */
    char alias[NL_LINK_ALIASLEN];
};

/* False for a message that is malformed, partial, or only about a bridge port. */
bool nl_link_decode(const struct nlmsghdr *message, struct nl_link *ret_link);

/* Reads one, by index or by name. Returns 0, -ENODEV if there is none, or -errno. */
int nl_link_read(struct nl_socket *socket, uint32_t ifindex, struct nl_link *ret_link);
int nl_link_find(struct nl_socket *socket, const char *name, struct nl_link *ret_link);

/* One end of a veth pair to create. */
struct nl_veth {
    const char *name;
    const uint8_t *mac; /* 6 bytes; NULL: the kernel's choice */
    uint32_t mtu;       /* 0: the kernel's choice */
};

/*
 * Creates a pair, both ends down: one end in the socket's namespace, its peer in the namespace of
 * the descriptor `netns`, or in the same one (NL_HERE). Returns 0, -EEXIST if either name is in
 * use, -EINVAL if the descriptor is no network namespace, or -errno; then nothing was created.
 */
int nl_link_add_veth(struct nl_socket *socket, const struct nl_veth *end,
                     const struct nl_veth *peer, int netns, struct nl_result *result);

/* The changes to make; fields that are zero are not changed. */
struct nl_link_change {
    const char *alias;  /* shorter than NL_LINK_ALIASLEN; "" removes it */
    const uint8_t *mac; /* 6 bytes */
    uint32_t mtu;
    bool no_arp;
    bool no_v6_addresses; /* generated ones; set it before the link is up, or it has one */
    enum { NL_LINK_KEEP, NL_LINK_UP, NL_LINK_DOWN } state;
};

/*
 * The state changes before the IPv6 setting does: to change both, call twice. Returns 0, -ENODEV,
 * or -errno.
 */
int nl_link_change(struct nl_socket *socket, uint32_t ifindex, const struct nl_link_change *change,
                   struct nl_result *result);

/*
 * Moves a link into another namespace, with this name (NULL: unchanged). The link is down
 * afterwards, has no addresses, and may have another index. Returns 0, -ENODEV, -EEXIST if the name
 * is in use there, or -errno.
 */
int nl_link_move(struct nl_socket *socket, uint32_t ifindex, int netns, const char *name,
                 struct nl_result *result);

/* Deletes a link; a veth's peer is deleted with it, in any namespace. Returns 0, -ENODEV, or
 * -errno. */
int nl_link_delete(struct nl_socket *socket, uint32_t ifindex, struct nl_result *result);
