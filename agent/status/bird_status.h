/* SPDX-License-Identifier: Apache-2.0 */
/* What BIRD says of itself and of our routes. Written by bgp/bgp.c, read by api. */
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
    bool exports[BGP_FAMILIES];  /* has that channel, and its filter lets something through */
    /* Of our routes, those that its filters keep back. */
    int64_t exported; /* what its filters let through; -1 unknown */
    int64_t filtered; /* -1 unknown */
    bool limited;     /* an export limit is reached, and keeps routes back */
    struct ip
        strange_next_hop; /* the next hop of its routes, which no interface here has; or none */
    bool listed;          /* `networks` has all of them, sorted; else unknown or too many */
    VEC(struct prefix) networks;
};

/* Which sessions are to be up, as bird.expectPeers says. */
struct peer_expectation {
    bool set;                 /* else all that BIRD has, and one at least */
    uint32_t count;           /* so many, whichever */
    const char *const *names; /* or these; borrowed from the configuration */
    size_t name_count;
};

struct bird_status {
    const char *socket; /* NULL: BIRD is not asked */
    struct peer_expectation expect;
    bool reachable;
    char error[256]; /* why not; "" at the very start */
    int64_t since_wall_ms;
    char version[32];
    VEC(struct bgp_peer) peers;
    int64_t learned[BGP_FAMILIES];         /* our routes that BIRD has; -1 unknown */
    int64_t expected[BGP_FAMILIES];        /* those in the kernel when it was asked */
    char kernel_down[BGP_FAMILIES][66];    /* BIRD's kernel protocol that is disabled; "" none */
    char kernel_refuses[BGP_FAMILIES][66]; /* likewise: that has `import none` */
    char kernel_limited[BGP_FAMILIES][66]; /* likewise: that has reached its import limit */
    char device_down[66];                  /* its device protocol that is disabled; "" none */
    bool log_heard;                        /* else overflows go unnoticed */
    uint64_t overflows; /* netlink messages lost, since the connection was made */
};

/* Whether a route of ours goes to a peer. */
enum peer_export {
    PEER_EXPORTED,
    PEER_DOWN,
    PEER_NOT_MEANT, /* no channel for the family, or one that exports nothing on purpose */
    PEER_FILTERED,
    PEER_ELSEWHERE, /* its channel has a table in which no route of ours is */
    PEER_UNLEARNED, /* BIRD has learned no route of the family */
    PEER_UNKNOWN,   /* BIRD did not say, or has not learned all routes */
};

/* For a route that stands in the kernel. */
enum peer_export peer_export_of(const struct bird_status *bird, const struct bgp_peer *peer,
                                const struct prefix *prefix);
/*
 * How many of our routes BIRD has learned and neither sends to a peer nor filters: it prefers other
 * routes to the same networks. 0 as well where the numbers are not known.
 */
int64_t bird_hidden(const struct bird_status *bird, const struct bgp_peer *peer);
/* "exported", "session-down", "not-meant", "filtered", ...; and in words. */
const char *peer_export_name(enum peer_export exported);
const char *peer_export_text(enum peer_export exported);

/* Whether that session is to be up; and whether none has to be. */
bool bird_expects(const struct bird_status *bird, const struct bgp_peer *peer);
bool bird_expects_none(const struct bird_status *bird);

/* How many peers are established, and what is announced to all of them together. */
size_t bird_established(const struct bird_status *bird);
int64_t bird_announced(const struct bird_status *bird);

/* Forgets peers and counts; the socket and what is expected stay. */
void bird_status_clear(struct bird_status *bird);
