/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a pod has the MAC address that somebody has set for it for good (permanent, noarp): the
 * kernel believes such an entry, and what goes to another pod's address is lost. Called by the look
 * at pods that do not answer (nat_silent_pods.h).
 */
#pragma once

#include <stdint.h>

#include "apply/netlink/neighbour.h"
#include "base/fault.h"
#include "base/vec.h"

struct nat_engine;
struct segment_socket;

struct nat_set_pod {
    struct nl_neighbour set; /* as the kernel has it */
    uint8_t mac[6];          /* who answers for it */
};

struct nat_set_pods {
    VEC(struct nat_set_pod) list;  /* of the wrong ones; nat_state_done() frees it */
    struct segment_socket *socket; /* by which one is asked for now; NULL: none is */
    struct nl_neighbour asked;
    int64_t asked_ms; /* monotonic: when the last one was asked for */
};

/* Asks for a pod on the wire, if it is set and it is time. */
void nat_set_pods_ask(struct nat_engine *engine, uint32_t ifindex, const struct ip *pod,
                      int64_t now_ms);
/* Takes the answers, and tells of those that are wrong. */
void nat_set_pods_tell(struct nat_engine *engine, struct faults *faults);
void nat_set_pods_done(struct nat_set_pods *pods);
