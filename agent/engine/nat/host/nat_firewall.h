/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the host's firewall accepts traffic that Services forward: test packets of ours
 * are sent through it, and if none of them passes, that is a fault.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/nat/proof/passage.h"
#include "apply/nat/proof/prove.h"
#include "plan/nat/nat.h"

struct nat_engine;

/* One aim of test packets: an uplink, a family and a protocol. */
struct firewall_aim {
    uint32_t uplink;
    uint8_t family;
    enum protocol protocol;
};

/* Consecutive checks in which no packet of the aim passed. */
struct firewall_miss {
    struct firewall_aim aim;
    unsigned looks;
};

struct nat_firewall {
    struct passage *passage;        /* NULL: not opened yet; nat_state_done() closes it */
    bool refused;                   /* the kernel lacks what the check needs */
    struct firewall_miss misses[2]; /* IPv4, IPv6 */
    int64_t due_ms;                 /* of the next check, monotonic */
    uint32_t generation;            /* of the rules at the last check */
    unsigned closed[2];             /* IPv4, IPv6: bits of protocols of which no packet passes */
    bool moved;                     /* `closed` changed since the last round of proofs */
};

/*
 * Sends test packets if they are due and some hook could drop them. Returns whether rows are to be
 * proved again: with services.firewallFault withdraw, the set of passing protocols changed.
 */
bool nat_firewall_look(struct nat_engine *engine, int64_t now_ms);

/*
 * Takes back the proofs of a row's addresses to which no packet passes, if a firewall fault
 * withdraws.
 */
void nat_firewall_refute(const struct nat_engine *engine, const struct nat_row *row,
                         nat_proof_list *list);
