/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses BIRD's replies into plain values. Pure.
 *
 * Replies of releases from 2.0 on are understood: unknown lines are skipped, missing values are
 * unknown (-1, 0 or ""). Names that do not fit are truncated; see bird_name_usable().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/net/ip.h"
#include "base/vec.h"
#include "client/bird/bird_reply.h"

enum {
    BIRD_NAME_SIZE = 66, /* BIRD's symbols have at most 64 characters */
};

enum bird_family { BIRD_IPV4, BIRD_IPV6, BIRD_FAMILIES };

/* From `show status`. */
struct bird_server {
    char version[32];    /* "2.0.12" */
    int64_t now_ms;      /* its local time, counted as if it were UTC; -1 unknown */
    char configured[40]; /* when last, as it prints times; "" unknown */
};

struct bird_channel {
    bool present; /* the protocol has this channel */
    char table[BIRD_NAME_SIZE];
    int64_t imported, exported; /* -1 unknown, as while the protocol is down */
    bool exports;               /* false: its output filter is REJECT, by configuration */
    bool refuses;               /* its input filter is REJECT */
    bool limited;               /* its export limit is reached and holds back routes */
    bool import_limited;        /* its import or receive limit is reached and holds back routes */
    struct ip next_hop; /* that BGP sets on its routes; IP_NONE: none, or the session is not up */
};

/* A protocol of `show protocols all`. */
struct bird_protocol {
    char name[BIRD_NAME_SIZE];
    char kind[16];    /* "BGP", "Kernel", "Device" */
    char state[16];   /* "up", "start", "down" */
    int64_t since_ms; /* as bird_server.now_ms; -1 unknown */
    char neighbor[64];
    bool listens;            /* a dynamic BGP listener (`neighbor range`): no session itself */
    uint32_t asn, local_asn; /* the neighbor's, and ours; 0 unknown */
    char bgp_state[24];
    char last_error[160];
    /* Of an established session: what is left of the hold timer, and its full value. */
    int64_t hold_left_ms, hold_ms; /* -1 unknown */
    /*
     * Changes whenever routes passed through its channels, or the channels were set up anew; 0
     * unknown.
     */
    uint64_t stamp;
    struct bird_channel channels[BIRD_FAMILIES]; /* unicast; other channels are skipped */
};

/* From `show bfd sessions`. */
struct bird_bfd {
    struct ip address;
    char state[16];
};

typedef VEC(struct bird_protocol) bird_protocol_list;
typedef VEC(struct bird_bfd) bird_bfd_list;
typedef VEC(struct prefix) bird_prefix_list;

/* "BIRD 2.0.12 ready." Returns 0, or -EPROTO if this is no greeting of BIRD. */
int bird_parse_greeting(const struct bird_reply *reply, struct bird_server *ret_server);

/* Fills in the values that the reply has; the others are left alone. */
void bird_parse_status(const struct bird_reply *reply, struct bird_server *server);

/*
 * Appends the protocols BGP, Kernel and Device; others are skipped. `now_ms` is BIRD's clock, for
 * times without a date. Returns 0 or -ENOMEM.
 */
int bird_parse_protocols(const struct bird_reply *reply, int64_t now_ms, bird_protocol_list *list);

int bird_parse_bfd(const struct bird_reply *reply, bird_bfd_list *list);

/*
 * Parses `show route ... count`, summed over tables. Returns 0, or -ENOENT if the reply has no
 * count.
 */
int bird_parse_count(const struct bird_reply *reply, int64_t *ret_count);

/* The networks of `show route`, sorted, each once. Returns 0 or -ENOMEM. */
int bird_parse_networks(const struct bird_reply *reply, bird_prefix_list *list);

/*
 * Parses "2026-11-20 07:33:00", "07:33:00.123" or "2026-11-20". Returns 0 with the rest of the
 * string, or -EINVAL.
 */
int bird_parse_time(const char *string, int64_t now_ms, int64_t *ret_ms, const char **ret_rest);

/* True if the name can be put into a command between apostrophes. */
bool bird_name_usable(const char *name);
