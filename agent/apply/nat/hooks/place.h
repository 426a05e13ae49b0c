/* SPDX-License-Identifier: Apache-2.0 */
/* Places: an interface and a direction where a program can be attached. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/abi.h"

enum nat_direction { NAT_INGRESS, NAT_EGRESS };

static inline enum nat_direction nat_hook_direction(enum nat_hook hook)
{
    return hook == NAT_HOOK_UPLINK_IN || hook == NAT_HOOK_POD_IN || hook == EGRESS_HOOK_CLIENT_IN ||
                   hook == EGRESS_HOOK_GATEWAY_IN
               ? NAT_INGRESS
               : NAT_EGRESS;
}

/* Whose program it is: that of egress runs after that of service NAT. */
/* ... and passage.c's after both, for moments. */
enum nat_layer { NAT_LAYER_SERVICES, NAT_LAYER_EGRESS, NAT_LAYER_PASSAGE, NAT_LAYERS };

/* At most one program of ours is attached here. */
struct nat_place {
    uint32_t ifindex;
    enum nat_direction direction;
    enum nat_layer layer;
};
typedef VEC(struct nat_place) nat_place_list;

int nat_place_cmp(const void *a, const void *b);

/* The kernel's state of a place. */
struct nat_place_state {
    uint32_t program; /* the id of our program; 0: it is not attached */
    bool behind;      /* a program or filter that is not ours gets the packets first */
    char before[64];  /* the first of those, for people */
};

/* "ingress" or "egress" */
const char *nat_direction_name(enum nat_direction direction);
/* The folder of its links' pins: "links", "egress-links"; passage.c pins none. */
const char *nat_layer_folder(enum nat_layer layer);
