/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The egress planner: which pods' packets leave the cluster by which gateways, and, on a gateway,
 * which clients it serves. Pure, like routes.h; the values are in egress_table.h.
 *
 * The units: an address of a pod (its row, and its policy by content), an Egress (its sets, and the
 * faults of pods that name it), and one unit each for the excluded networks and for the served
 * clients. Of the facts it reads only store and config. Each function returns 0 or -ENOMEM.
 */
#pragma once

#include "base/fault.h"
#include "model/egress.h"
#include "model/pod.h"
#include "plan/egress/egress_table.h"
#include "plan/facts.h"

typedef VEC(struct egress_ref) egress_ref_list; /* names borrowed from objects */

/*
 * The egress plan of this node. The client side is empty unless egress.enabled, the gateway side
 * unless egress.gateway is set.
 */
struct egress_plan {
    struct sorted sets;     /* struct egress_set * */
    struct sorted policies; /* struct egress_policy *: those in use by a pod */
    struct sorted pods;     /* struct egress_pod * */
    bool pods_told; /* there are faults of pods, of their policies, or of Egresses that they name */
    prefix_list excluded;  /* sorted; of an excluded network and a destination the longer prefix
                              wins, or of equally long ones the destination */
    char *served;          /* list of Egresses that this gateway serves; NULL: no gateway */
    struct sorted clients; /* struct egress_client * */
    /* What this gateway accepts from its clients: destinations without the excluded networks. */
    struct sorted gateway_policies; /* struct egress_policy *, of the families of clients */
    prefix_list gateway_excluded;
};

/* The policy of a client of this gateway, in the plan; NULL: none. */
const struct egress_policy *egress_plan_gateway_policy(const struct egress_plan *plan,
                                                       const struct egress_client *client);

void egress_plan_init(struct egress_plan *plan);
void egress_plan_done(struct egress_plan *plan);

/* The whole plan from nothing. After -ENOMEM there is no plan. */
int plan_egress(const struct node_facts *facts, struct egress_plan *ret_plan,
                struct faults *faults);

/* The sets of an Egress, IPv4 first; NULL for a family without a destination. */
int plan_egress_sets(const struct node_facts *facts, const struct egress *egress,
                     struct egress_set *ret_sets[static 2], struct faults *faults);

/* Reports an Egress named by pods of this node that does not exist, or that they may not use. */
int plan_egress_named(const struct node_facts *facts, const struct egress_ref *ref,
                      struct faults *faults);

/* The policy of a key. */
int plan_egress_policy(const struct node_facts *facts, const struct egress_policy_key *key,
                       struct egress_policy **ret_policy, struct faults *faults);

/* The row of an address; NULL: it is no pod's of this node, or needs no row. */
int plan_egress_pod(const struct node_facts *facts, const struct ip *address,
                    struct egress_pod **ret_pod, struct faults *faults);

/* Appends the excluded networks, and sorts. */
int plan_egress_excluded(const struct node_facts *facts, prefix_list *excluded,
                         struct faults *faults);

/* The same for a gateway, independent of what its clients' nodes serve themselves. */
int plan_egress_gateway_excluded(const struct node_facts *facts, prefix_list *excluded,
                                 struct faults *faults);

/* Appends the Egresses that this node serves as a gateway, in order. */
int plan_egress_served(const struct node_facts *facts, egress_ref_list *served,
                       struct faults *faults);

/* The row of an address on a gateway that serves these Egresses; NULL: no client. */
int plan_egress_client(const struct node_facts *facts, const egress_ref_list *served,
                       const struct ip *address, struct egress_client **ret_client);
