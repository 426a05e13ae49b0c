/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the host's firewall lets pass what Services have forwarded: packets of ours are sent
 * through it, and where none of them passes, that is a fault.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/nat/proof/passage.h"
#include "apply/nat/proof/prove.h"
#include "plan/nat/nat.h"

struct nat_engine;

/* What packets are sent for: by an uplink, of a family and protocol. */
struct firewall_aim {
    uint32_t uplink;
    uint8_t family;
    enum protocol protocol;
};

/* Looks one after the other in which nothing of the aim passed. */
struct firewall_miss {
    struct firewall_aim aim;
    unsigned looks;
};

struct nat_firewall {
    struct passage *passage;        /* NULL: not opened yet; nat_state_done() closes it */
    bool refused;                   /* the kernel does not have what it takes */
    struct firewall_miss misses[2]; /* IPv4, IPv6 */
    int64_t due_ms;                 /* of the next look, monotonic */
    uint32_t generation;            /* of the rules that were tried last */
    unsigned closed[2];             /* IPv4, IPv6: bits of protocols of which nothing passes */
    bool moved;                     /* `closed` is another since the last round has proved */
};

/*
 * Sends packets if it is time, and there is somebody to drop them. Returns whether something is to
 * be proved anew: with services.firewallFault withdraw, other protocols pass than did.
 */
bool nat_firewall_look(struct nat_engine *engine, int64_t now_ms);

/* Takes the proofs back of addresses of a row that nothing passes to, where that withdraws. */
void nat_firewall_refute(const struct nat_engine *engine, const struct nat_row *row,
                         nat_proof_list *list);
