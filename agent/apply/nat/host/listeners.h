/* SPDX-License-Identifier: Apache-2.0 */
/* Who looks at the packets that this node forwards: netfilter's chains, tables and hooks, XFRM. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct nat_listeners {
    bool any;            /* also where it can't be known */
    bool judged;         /* netfilter listens, or may */
    bool xfrm;           /* there are policies of XFRM */
    uint32_t generation; /* of nftables' rules: another one where they are others; 0: unknown */
    char who[128];       /* the first one found, or why it can't be known; "": nobody */
    char early[128];     /* the first chain of nftables at ingress, before all routing; "": none */
};

struct nat_watch;

/*
 * Opens what it takes to look, in the caller's network namespace. Looking needs CAP_NET_ADMIN
 * there. Returns 0 or -errno.
 */
int nat_watch_open(struct nat_watch **ret_watch);
void nat_watch_close(struct nat_watch *watch);
DEFINE_CLEANUP(struct nat_watch *, nat_watch_close);

/*
 * What becomes readable when nftables' rules are others, or -1: the kernel has none. Legacy
 * iptables, programs of BPF and policies of XFRM say nothing there.
 */
int nat_watch_fd(const struct nat_watch *watch);
/* Takes in what was said. Returns whether it may be about others' rules than our own table. */
bool nat_watch_hear(struct nat_watch *watch);

/* Looks. Cheap where nothing has changed: tables of nftables are read only when they did. */
struct nat_listeners nat_watch_look(struct nat_watch *watch);
