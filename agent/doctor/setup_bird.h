/* SPDX-License-Identifier: Apache-2.0 */
/* BIRD's share of a first configuration: what is seen, and the lines. Internal to doctor/. */
#pragma once

#include "base/net/ip.h"
#include "base/text.h"
#include "client/bird/bird_parse.h"
#include "doctor/bird_unit.h"

/* What the two families' routes and a BIRD that runs tell. */
struct setup_bird {
    char *socket;   /* NULL: no BIRD was found */
    bool withdraws; /* a restart of its unit withdraws its routes */
    char unit[BIRD_UNIT_LEN];
    bool device;                       /* it has a protocol device that is not ours */
    uint32_t asn, peer_asn;            /* this node's, the gateway's; 0 unknown */
    struct ip gateways[BIRD_FAMILIES]; /* of the default routes; IP_NONE: there is none */
    struct bird_protocol sessions[BIRD_FAMILIES]; /* to the gateway, not ours; name "": none */
};

void setup_bird_done(struct setup_bird *bird);

/* Returns 0 or -ENOMEM; what can't be seen is left as unknown. */
int setup_find_bird(struct setup_bird *bird);

struct setup_numbers {
    uint32_t asn, peer_asn; /* as given; 0: not */
    uint32_t table;         /* the kernel's, that BIRD learns from */
    struct ip router_id;    /* IP_NONE: unknown */
};

/* Appends the lines; the text says itself if memory lacked. */
void setup_compose_bird(const struct setup_bird *bird, const struct setup_numbers *numbers,
                        struct text *out);
