/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of this node for service NAT: svc0, the interfaces that carry the programs, the source
 * addresses of masqueraded packets, the networks of pods and Services. It follows the links and
 * addresses of the kernel's mirror.
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
    } named;               /* its addresses in the Node object; IP_NONE: none */
    struct nat_svc0 leads; /* to svc0; ifindex 0: svc0 does not exist */
    struct probe_origins origins;
    struct default_sources defaults;
    enum nat_rank rank;  /* rank of our programs at the hooks at the last check */
    bool defragments[2]; /* netfilter defragments for us; IPv4, IPv6 */
    bool attached;       /* our program is attached to each hook */
    size_t hindrances;   /* settings of the host that are wrong */
    bool incomplete;     /* the kernel refused something: it is retried soon */
    bool moved;          /* something changed that every proof depends on; the engine clears it */
    bool own_moved;      /* this node's addresses changed, and plans with them; likewise */
};

/*
 * Finds the programs that an earlier agent attached, and enables defragmentation. Returns 0 or
 * -errno.
 */
int nat_node_open(struct nat_node *node, struct nat_datapath *datapath, const char *pins);
void nat_node_done(struct nat_node *node);

/*
 * Brings svc0, the hooks and the settings in the maps in line with `facts` and the kernel's mirror.
 * What fails is a fault; without svc0 nothing further is done. Returns 0, or -errno when it could
 * not be completed.
 */
int nat_node_follow(struct nat_node *node, const struct node_facts *facts, struct kernel *kernel,
                    struct status *status);

/* Adds the hooks that our program is not attached to. Returns 0 or -ENOMEM. */
int nat_node_verify(struct nat_node *node, nat_difference_list *list);

/* Queries the kernel for the rank of our programs at the hooks. */
enum nat_rank nat_node_look(struct nat_node *node);

/*
 * Whether a setting of the host changed since the last check. The kernel gives no notification of
 * some of them (accept_local).
 */
bool nat_node_host_moved(const struct nat_node *node);
