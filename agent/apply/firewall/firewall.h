/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our nftables table: the ports opened by Services as a set, and the chain that marks or accepts
 * packets to them. `nft list table inet fingerpost` shows all of it.
 *
 * The state is read from the kernel, never remembered. A change of the set is a transaction that
 * adds and deletes elements. A change of the rules replaces the table in one transaction, its
 * elements included: a packet meets either the old rules or the new ones.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "plan/firewall/opening_table.h"

/* The parameters of the rules. */
struct firewall_rules {
    uint32_t mark; /* bits that are set in a packet's mark; 0: mode accept */
};

/* The wanted contents of the sets, sorted. */
struct firewall_sets {
    opening_list openings;
    ip_list closed; /* of mode accept: addresses whose other ports are dropped */
};

void firewall_sets_done(struct firewall_sets *sets);
#define AUTOSETS CLEANUP(firewall_sets_done)

struct firewall;

/* Returns 0, -EOPNOTSUPP if the kernel has no nftables, or -errno. */
int firewall_open(struct firewall **ret_firewall);
void firewall_close(struct firewall *firewall);
DEFINE_CLEANUP(struct firewall *, firewall_close);

/* The socket of nftables' notifications: to be polled for input. */
int firewall_fd(const struct firewall *firewall);
/*
 * Reads the notifications. Returns 1 if another program changed our table, or notifications were
 * lost; else 0, or -errno.
 */
int firewall_hear(struct firewall *firewall);

enum firewall_state {
    FIREWALL_ABSENT, /* the table does not exist */
    FIREWALL_OTHER,  /* its rules differ from the wanted ones */
    FIREWALL_GOOD,
};

/* Reads the table; `ret_sets` (freed by the caller) are the contents of the sets. Returns 0 or
 * -errno. */
int firewall_read(struct firewall *firewall, const struct firewall_rules *rules,
                  enum firewall_state *ret_state, struct firewall_sets *ret_sets);

/* Packets that matched each rule with a counter since the table was made. */
struct firewall_counts {
    uint64_t opened; /* marked or accepted */
    uint64_t closed; /* dropped */
};
int firewall_count(struct firewall *firewall, struct firewall_counts *ret_counts);

/* Replaces the table, whatever its contents. Returns 0, or -errno with the table unchanged. */
int firewall_replace(struct firewall *firewall, const struct firewall_rules *rules,
                     const struct firewall_sets *sets, struct nl_result *result);
/* Adds and deletes elements. `come` and `go`: differences of sets. Returns 0 or -errno. */
int firewall_change(struct firewall *firewall, const struct firewall_sets *come,
                    const struct firewall_sets *go, struct nl_result *result);
/* Removes the table. Returns 1, 0 if there was none, or -errno. */
int firewall_remove(struct firewall *firewall);

/*
 * Finds a base chain of another program on the input or forward hook whose policy is drop, as "ip
 * filter INPUT": traffic that we accept is still dropped by that chain. Returns 1 with its name, 0,
 * or -errno.
 */
int firewall_find_drop(struct firewall *firewall, char *buffer, size_t size);
