/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our table of nftables: what Services have opened as a set, and the chain that marks or accepts
 * what is for it. `nft list table inet fingerpost` shows all of it.
 *
 * What is there is read from the kernel, never remembered. A change of the set is a transaction of
 * the elements that come and go. A change of the rules replaces the table in one transaction, its
 * elements included: a packet meets the one or the other.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "plan/firewall/opening_table.h"

/* What the rules are made of. */
struct firewall_rules {
    uint32_t mark; /* bits that are added to a packet's mark; 0: mode accept */
};

/* What is to be in the sets, sorted. */
struct firewall_sets {
    opening_list openings;
    ip_list closed; /* of mode accept: whose other ports are dropped */
};

void firewall_sets_done(struct firewall_sets *sets);
#define AUTOSETS CLEANUP(firewall_sets_done)

struct firewall;

/* Returns 0, -EOPNOTSUPP if the kernel has no nftables, or -errno. */
int firewall_open(struct firewall **ret_firewall);
void firewall_close(struct firewall *firewall);
DEFINE_CLEANUP(struct firewall *, firewall_close);

/* The notifications of nftables: to be polled for input. */
int firewall_fd(const struct firewall *firewall);
/*
 * Takes them in. Returns 1 if somebody else touched our table, or notifications were lost; else 0,
 * or -errno.
 */
int firewall_hear(struct firewall *firewall);

enum firewall_state {
    FIREWALL_ABSENT, /* there is no such table */
    FIREWALL_OTHER,  /* its rules are others than wanted */
    FIREWALL_GOOD,
};

/* Reads the table; `ret_sets` (the caller ends it) is what is in the sets. 0 or -errno. */
int firewall_read(struct firewall *firewall, const struct firewall_rules *rules,
                  enum firewall_state *ret_state, struct firewall_sets *ret_sets);

/* Packets that each rule with a counter has met since the table was made. */
struct firewall_counts {
    uint64_t opened; /* marked or accepted */
    uint64_t closed; /* dropped */
};
int firewall_count(struct firewall *firewall, struct firewall_counts *ret_counts);

/* Makes the table anew, whatever was there. Returns 0 or -errno with what was there before. */
int firewall_replace(struct firewall *firewall, const struct firewall_rules *rules,
                     const struct firewall_sets *sets, struct nl_result *result);
/* Puts in what comes, takes out what goes. `come` and `go`: differences of sets. 0 or -errno. */
int firewall_change(struct firewall *firewall, const struct firewall_sets *come,
                    const struct firewall_sets *go, struct nl_result *result);
/* Removes the table. Returns 1, 0 if there was none, or -errno. */
int firewall_remove(struct firewall *firewall);

/*
 * A base chain of somebody else's on the ways in (input, forward) whose policy is drop, as
 * "ip filter INPUT": what we accept it drops all the same. Returns 1 with its name, 0, or -errno.
 */
int firewall_find_drop(struct firewall *firewall, char *buffer, size_t size);
