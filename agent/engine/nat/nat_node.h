/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What service NAT knows of this node: svc0, the interfaces that carry the programs, the addresses
 * that masqueraded packets leave with, the networks of pods and Services. It is updated from what
 * the kernel's mirror says of links and addresses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/mirror/kernel.h"
#include "apply/nat/datapath.h"
#include "apply/nat/hooks/hooks.h"
#include "apply/nat/proof/prove.h"
#include "plan/nat/nat.h"
#include "plan/nat/nat_hooks.h"
#include "status/status.h"

struct nat_node {
    struct nat_datapath *datapath; /* borrowed */
    struct nat_hooks *hooks;
    nat_attachment_list wanted; /* sorted */
    nat_interface_list interfaces;
    ip_list local; /* this node's addresses */
    struct nat_settings settings;
    struct {
        struct ip v4, v6;
    } named;               /* the addresses that the Node object gives it; IP_NONE: none */
    struct nat_svc0 leads; /* to svc0; ifindex 0: svc0 is not there */
    struct probe_origins origins;
    struct default_sources defaults;
    enum nat_rank rank;  /* how our programs stood at the hooks when they were looked at */
    bool defragments[2]; /* netfilter does, for us; IPv4, IPv6 */
    bool attached;       /* our program is attached to each hook */
    size_t hindrances;   /* settings of the host that are off */
    bool incomplete;     /* something was refused: it is tried again soon */
    bool moved;          /* something changed that every proof depends on; the engine clears it */
    bool own_moved;      /* this node's addresses changed, and with them plans; likewise */
};

/* Finds what an earlier agent attached, and has fragments joined. Returns 0 or -errno. */
int nat_node_open(struct nat_node *node, struct nat_datapath *datapath, const char *pins);
void nat_node_done(struct nat_node *node);

/*
 * Makes svc0, hooks and the settings in the maps as `facts` and the kernel's mirror ask for. What
 * can't be done is a fault; without svc0 nothing but that is. Returns 0, or -errno when it could
 * not be tried to the end.
 */
int nat_node_follow(struct nat_node *node, const struct node_facts *facts, struct kernel *kernel,
                    struct status *status);

/* Adds the hooks that our program is not attached to. Returns 0 or -ENOMEM. */
int nat_node_verify(struct nat_node *node, nat_difference_list *list);

/* Asks the kernel how our programs stand at the hooks. */
enum nat_rank nat_node_look(struct nat_node *node);

/*
 * Whether a setting of the host is another one than at the last look. The kernel tells nobody of
 * some of them (accept_local).
 */
bool nat_node_host_moved(const struct nat_node *node);
