/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether a pod has the MAC address that a permanent or noarp neighbour entry assigns to it.
 * The kernel does not verify such an entry, and if it is wrong, packets to the pod are lost. Called
 * by the check of pods that do not answer (nat_silent_pods.h).
 */
#pragma once

#include <stdint.h>

#include "apply/netlink/neighbour.h"
#include "base/fault.h"
#include "base/vec.h"

struct nat_engine;
struct segment_socket;

struct nat_set_pod {
    struct nl_neighbour set; /* the kernel's entry */
    uint8_t mac[6];          /* the MAC address that answers for it */
};

struct nat_set_pods {
    VEC(struct nat_set_pod) list;  /* wrong entries; nat_state_done() frees it */
    struct segment_socket *socket; /* for the present request; NULL: none */
    struct nl_neighbour asked;
    int64_t asked_ms; /* monotonic: when the last request was sent */
};

/* Sends an ARP or NDP request for a pod if its entry is static and a request is due. */
void nat_set_pods_ask(struct nat_engine *engine, uint32_t ifindex, const struct ip *pod,
                      int64_t now_ms);
/* Processes the answers, and reports the entries that are wrong. */
void nat_set_pods_tell(struct nat_engine *engine, struct faults *faults);
void nat_set_pods_done(struct nat_set_pods *pods);
