/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network interfaces and their addresses as plain values: the content of the kernel's mirror, and
 * input of planners. Nothing here touches the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/ours.h"
#include "base/sorted.h"

struct link {
    uint32_t ifindex;
    uint32_t master; /* bridge, bond, VRF, ... of which it is a port; 0: none */
    uint32_t lower;  /* in this namespace: a veth's peer, a VLAN's lower device; 0: none, or in
                        another one */
    uint32_t mtu;
    uint16_t type;  /* ARPHRD_* of linux/if_arp.h */
    bool up;        /* administratively */
    bool unplugged; /* up, without carrier: no cable, or the other end is down */
    bool one_peer;  /* a tunnel with a fixed remote end, or similar (IFF_POINTOPOINT) */
    bool no_arp;    /* it neither sends nor answers ARP and ND (IFF_NOARP) */
    bool peer_away; /* a veth whose peer is in another network namespace */
    uint8_t mac[6];
    char name[16];
    char kind[16];   /* "veth", "bridge", "bond", "vlan", ...; "" of hardware and the loopback */
    char alias[256]; /* IFALIASZ */
};

/* The remedy where one is unplugged; argument: its name. */
#define LINK_PLUG_REMEDY "see to the cable, and to the switch's port at its other end; ethtool %s"

/* Order by ifindex: for struct sorted. */
int link_cmp(const void *a, const void *b);
/* True if all fields are equal. */
bool link_equal(const struct link *a, const struct link *b);

/* The interface of this index, of this name; NULL: none. `links`: struct link by link_cmp(). */
const struct link *link_find(const struct sorted *links, uint32_t ifindex);
const struct link *link_named(const struct sorted *links, const char *name);

/* The bridge, bond or similar master of which an interface is a port; NULL: none. Not a VRF. */
const struct link *link_port_of(const struct sorted *links, const struct link *link);

/*
 * The bridge whose hosts are behind an interface: the bridge of which it is a port, or in one of
 * whose VLANs this node is a host by this interface (the CNI plugin "bridge" creates veths for
 * this); NULL: none.
 */
const struct link *link_bridge_behind(const struct sorted *links, const struct link *link);

enum { LINK_MAC_STRLEN = 18 };
/* "02:00:00:00:00:01"; returns `buffer`. */
const char *link_mac_str(const uint8_t mac[static 6], char buffer[static LINK_MAC_STRLEN]);

/* Whether hosts behind it are resolved by ARP or neighbour discovery: not in a tunnel. */
bool link_has_neighbours(const struct link *link);

/* Whether ARP is disabled on an interface whose kind has ARP; false for kinds without ARP. */
bool link_lacks_arp(const struct link *link);

/* True if it is svc0, and created by us. */
bool link_is_svc0(const struct link *link);

/* The kind of a path; for PATH_DEFAULT and PATH_VIA `net` is all addresses of a family. */
enum path_kind {
    PATH_PLAIN,
    PATH_DEFAULT, /* the family's current default route leads there */
    PATH_VIA,     /* other routes of the family lead there, by a router */
    PATH_ROUTER,  /* `net` is the router of the current default route, as a host */
};

/*
 * Routes by an interface: directly to a network or a host, or (`net` IP_NONE) to other routers, by
 * a next hop or a default route.
 */
struct link_path {
    uint32_t ifindex;
    enum path_kind kind;
    struct prefix net;
};
int link_path_cmp(const void *a, const void *b); /* ifindex, kind; paths to other routers first */

/* An address of an interface; not one for which ip_is_special(). */
struct link_address {
    uint32_t ifindex;
    uint32_t order; /* position in the kernel's list of all interfaces' addresses */
    struct ip ip;
    uint8_t length;
    uint8_t scope;    /* RT_SCOPE_*: 0 is global */
    uint8_t protocol; /* IFA_PROTO: the program that added it, by base/ours.h; 0: not set */
    bool secondary;   /* IPv4: of a network that has another; IPv6: temporary */
    bool deprecated;  /* not for new connections, if there is another address */
    bool tentative;   /* IPv6: duplicate address detection is not done, or has failed */
    bool duplicate;   /* IPv6: duplicate address detection has failed */
};

/* Order by ifindex, family, order; then all else, so that tables can be compared. */
int link_address_cmp(const void *a, const void *b);

/* The source addresses that the kernel uses for packets of this node by its default routes. */
struct default_sources {
    struct ip v4, v6; /* IP_NONE: there is no such route */
};
