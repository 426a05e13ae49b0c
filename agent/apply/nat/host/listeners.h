/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners for packets that this node forwards: netfilter's chains, tables and hooks, XFRM. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct nat_listeners {
    bool any;            /* also if it can't be determined */
    bool judged;         /* netfilter listens, or may listen */
    bool xfrm;           /* there are XFRM policies */
    uint32_t generation; /* of nftables' rules: changes with every change of them; 0: unknown */
    char who[128];       /* the first one found, or why it can't be determined; "": none */
    char early[128];     /* the first chain of nftables at ingress, before routing; "": none */
};

struct nat_watch;

/*
 * Opens the sockets, in the caller's network namespace. nat_watch_look() needs CAP_NET_ADMIN there.
 * Returns 0 or -errno.
 */
int nat_watch_open(struct nat_watch **ret_watch);
void nat_watch_close(struct nat_watch *watch);
DEFINE_CLEANUP(struct nat_watch *, nat_watch_close);

/*
 * A descriptor that becomes readable when nftables' rules change, or -1: the kernel has none.
 * Legacy iptables, BPF programs and XFRM policies send no notification there.
 */
int nat_watch_fd(const struct nat_watch *watch);
/* Reads the notifications. Returns whether they may be about rules of tables other than ours. */
bool nat_watch_hear(struct nat_watch *watch);

/* Finds the listeners. Cheap where nothing has changed: tables of nftables are read only after a
 * change. */
struct nat_listeners nat_watch_look(struct nat_watch *watch);
