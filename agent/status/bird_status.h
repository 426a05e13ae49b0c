/* SPDX-License-Identifier: Apache-2.0 */
/* The state of BIRD and of our routes in it. Written by bgp/bgp.c, read by api. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/vec.h"

enum { BGP_IPV4, BGP_IPV6, BGP_FAMILIES };

/* What is wrong with the interface by which a peer is reached. */
enum bgp_link_state { BGP_LINK_DOWN, BGP_LINK_UNPLUGGED, BGP_LINK_MISSING };

/* A BGP session that BIRD is configured for. */
struct bgp_peer {
    char name[66]; /* of BIRD's protocol */
    char address[64];
    uint32_t asn, local_asn; /* the peer's, and ours; 0 unknown */
    char state[24];
    bool established;
    bool disabled; /* by an operator, in BIRD */
    int64_t since_wall_ms;
    char bfd[16];         /* "Up", ...; "" without BFD */
    char last_error[160]; /* "" none */
    char down_link[16];   /* the session is down because of this interface; "" it is not */
    enum bgp_link_state down_how;
    int64_t received, announced; /* prefixes of both families; -1 unknown */
    bool exports[BGP_FAMILIES];  /* has that channel, and its export filter accepts something */
    /* Counts of our routes, by the result of its export filters. */
    int64_t exported; /* accepted; -1 unknown */
    int64_t filtered; /* -1 unknown */
    bool limited;     /* an export limit is reached, so that routes are not sent */
    struct ip
        strange_next_hop; /* the next hop of its routes, which no interface here has; or none */
    bool listed;          /* `networks` has all of them, sorted; false: unknown or too many */
    VEC(struct prefix) networks;
};

/* Which sessions should be up, by bird.expectPeers. */
struct peer_expectation {
    bool set;                 /* false: all sessions that BIRD has, and at least one */
    uint32_t count;           /* this number of sessions, any of them */
    const char *const *names; /* or these; borrowed from the configuration */
    size_t name_count;
};

struct bird_status {
    const char *socket; /* NULL: BIRD is not polled */
    struct peer_expectation expect;
    bool reachable;
    char error[256]; /* why it does not respond; "" before the first poll */
    int64_t since_wall_ms;
    char version[32];
    VEC(struct bgp_peer) peers;
    int64_t learned[BGP_FAMILIES];         /* our routes that BIRD has learned; -1 unknown */
    int64_t expected[BGP_FAMILIES];        /* those in the kernel at the time of the poll */
    char kernel_down[BGP_FAMILIES][66];    /* BIRD's kernel protocol that is disabled; "" none */
    char kernel_refuses[BGP_FAMILIES][66]; /* likewise: one with `import none` */
    char kernel_limited[BGP_FAMILIES][66]; /* likewise: one that has reached its import limit */
    char device_down[66];                  /* a device protocol that is disabled; "" none */
    bool log_heard;     /* BIRD's log is read; false: overflows are not detected */
    uint64_t overflows; /* lost netlink messages, since the connection was made */
};

/* Whether a route of ours is exported to a peer. */
enum peer_export {
    PEER_EXPORTED,
    PEER_DOWN,
    PEER_NOT_MEANT, /* no channel for the family, or one configured to export nothing */
    PEER_FILTERED,
    PEER_ELSEWHERE, /* its channel uses a table without any route of ours */
    PEER_UNLEARNED, /* BIRD has learned no route of the family */
    PEER_UNKNOWN,   /* BIRD did not report it, or has not learned all routes */
};

/* For a route that is installed in the kernel. */
enum peer_export peer_export_of(const struct bird_status *bird, const struct bgp_peer *peer,
                                const struct prefix *prefix);
/*
 * How many of our routes BIRD has learned and neither exports to a peer nor filters, since it
 * prefers other routes to the same networks. 0 also where the numbers are unknown.
 */
int64_t bird_hidden(const struct bird_status *bird, const struct bgp_peer *peer);
/* "exported", "session-down", "not-meant", "filtered", ...; and in words. */
const char *peer_export_name(enum peer_export exported);
const char *peer_export_text(enum peer_export exported);

/* Whether that session should be up; and whether none is expected. */
bool bird_expects(const struct bird_status *bird, const struct bgp_peer *peer);
bool bird_expects_none(const struct bird_status *bird);

/* The number of established peers, and the sum of the prefixes announced to them. */
size_t bird_established(const struct bird_status *bird);
int64_t bird_announced(const struct bird_status *bird);

/* Clears peers and counts; the socket and the expected peers stay. */
void bird_status_clear(struct bird_status *bird);
