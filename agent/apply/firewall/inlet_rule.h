/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates one rule of nftables for one packet. Internal to apply/firewall/. */
#pragma once

#include <libmnl/libmnl.h>

#include "apply/firewall/inlet.h"

enum inlet_answer { INLET_NO, INLET_MAYBE, INLET_YES };

/* The result of a lookup in a set. */
struct inlet_element {
    enum inlet_answer is_in;
    bool has_verdict; /* of a verdict map: */
    int32_t verdict;
};

struct inlet_rule_asker {
    const struct inlet_packet *packet;
    /* Looks up a key in a set of the rule's table. */
    struct inlet_element (*look_up)(void *context, const char *set, const void *key, size_t size);
    void *context;
};

/* The result of a rule for the packet. */
struct inlet_step {
    enum inlet_answer matches;
    bool has_verdict;  /* otherwise the next rule is evaluated */
    int32_t verdict;   /* NF_ACCEPT, NF_DROP, NFT_JUMP and so on */
    const char *chain; /* of a jump; borrowed from the rule */
};

/* `expressions`: the attribute NFTA_RULE_EXPRESSIONS. */
struct inlet_step inlet_rule_ask(const struct nlattr *expressions,
                                 const struct inlet_rule_asker *asker);
