/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network interfaces and their addresses as plain values: what the kernel's mirror holds, and what
 * is planned from. Nothing here touches the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/ours.h"
#include "base/sorted.h"

struct link {
    uint32_t ifindex;
    uint32_t master; /* bridge, bond, VRF, ... that it is a port of; 0: none */
    uint32_t lower; /* in this namespace: a veth's other end, what a VLAN is on; 0: none, or away */
    uint32_t mtu;
    uint16_t type;  /* ARPHRD_* of linux/if_arp.h */
    bool up;        /* administratively */
    bool unplugged; /* up, and without carrier: no cable, or nobody at its other end */
    bool one_peer;  /* a tunnel with a fixed other end, or the like (IFF_POINTOPOINT) */
    bool no_arp;    /* it asks for no neighbours, and answers nobody (IFF_NOARP) */
    bool peer_away; /* a veth whose other end is in another network namespace */
    uint8_t mac[6];
    char name[16];
    char kind[16];   /* "veth", "bridge", "bond", "vlan", ...; "" of hardware and the loopback */
    char alias[256]; /* IFALIASZ */
};

/* What to do where one is unplugged; of its name. */
#define LINK_PLUG_REMEDY "see to the cable, and to the switch's port at its other end; ethtool %s"

/* Order by ifindex: for struct sorted. */
int link_cmp(const void *a, const void *b);
/* True if all that is known is the same. */
bool link_equal(const struct link *a, const struct link *b);

/* The interface of this index, of this name; NULL: none. `links`: struct link by link_cmp(). */
const struct link *link_find(const struct sorted *links, uint32_t ifindex);
const struct link *link_named(const struct sorted *links, const char *name);

/* The bridge, bond or the like that an interface is a port of; NULL: none. Not a VRF. */
const struct link *link_port_of(const struct sorted *links, const struct link *link);

/*
 * The bridge whose hosts are behind an interface: that it is a port of, or by which this node is
 * itself a host there, in one of its VLANs (the CNI plugin bridge makes veths of such); NULL: none.
 */
const struct link *link_bridge_behind(const struct sorted *links, const struct link *link);

enum { LINK_MAC_STRLEN = 18 };
/* "02:00:00:00:00:01"; returns `buffer`. */
const char *link_mac_str(const uint8_t mac[static 6], char buffer[static LINK_MAC_STRLEN]);

/* Whether what is behind it has to be found by ARP or neighbour discovery: not in a tunnel. */
bool link_has_neighbours(const struct link *link);

/* Of one that has ARP by its nature, whether somebody has taken it; others stay without. */
bool link_lacks_arp(const struct link *link);

/* True if it is svc0, and made by us. */
bool link_is_svc0(const struct link *link);

/* What is known of a path; of the two in the middle `net` is all addresses of a family. */
enum path_kind {
    PATH_PLAIN,
    PATH_DEFAULT, /* the family's default route leads there just now */
    PATH_VIA,     /* some of its other routes do, by a router */
    PATH_ROUTER,  /* `net` is the router that a default route leads to just now, as a host */
};

/*
 * That routes lead out of an interface: straight to a network or a host, or (`net` IP_NONE) to
 * other routers, by a next hop or a default route.
 */
struct link_path {
    uint32_t ifindex;
    enum path_kind kind;
    struct prefix net;
};
int link_path_cmp(const void *a, const void *b); /* ifindex, kind; to other routers first */

/* An address of an interface; not one for which ip_is_special(). */
struct link_address {
    uint32_t ifindex;
    uint32_t order; /* in which the kernel lists them, of all interfaces */
    struct ip ip;
    uint8_t length;
    uint8_t scope;    /* RT_SCOPE_*: 0 is global */
    uint8_t protocol; /* IFA_PROTO: who made it, by base/ours.h; 0: he does not say */
    bool secondary;   /* IPv4: of a network that has another; IPv6: temporary */
    bool deprecated;  /* not for new connections, where there is a choice */
    bool tentative;   /* IPv6: not known to be unique, or known not to be */
    bool duplicate;   /* IPv6: known not to be */
};

/* Order by ifindex, family, order; then all else, so that tables can be compared. */
int link_address_cmp(const void *a, const void *b);

/* The addresses that the kernel takes for packets of this node by its default routes. */
struct default_sources {
    struct ip v4, v6; /* IP_NONE: there is no such route */
};
