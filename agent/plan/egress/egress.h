/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The egress planner: which pods leave the cluster by which gateways, and, on a gateway, whom it
 * serves. Pure, like routes.h; the values are egress_table.h's.
 *
 * The units: an address of a pod (its row, and its policy by content), an Egress (its sets, and
 * what is wrong with those who name it), and as one each the stays, who is served here. Of the
 * facts only store and config are read. Each function returns 0 or -ENOMEM.
 */
#pragma once

#include "base/fault.h"
#include "model/egress.h"
#include "model/pod.h"
#include "plan/egress/egress_table.h"
#include "plan/facts.h"

typedef VEC(struct egress_ref) egress_ref_list; /* names that are borrowed from objects */

/* What egress asks of this node as a whole. The client side is empty unless egress.enabled, the
 * gateway's side unless egress.gateway is there. */
struct egress_plan {
    struct sorted sets;     /* struct egress_set * */
    struct sorted policies; /* struct egress_policy *: those that a pod has */
    struct sorted pods;     /* struct egress_pod * */
    bool pods_told;         /* there are faults of pods, of their policies, or of what they name */
    prefix_list excluded;   /* sorted; of a stay and a destination the longer wins, or of equally
                             * long ones the destination */
    char *served;           /* Egresses that this gateway serves, a list; NULL: it is none */
    struct sorted clients;  /* struct egress_client * */
    /* What this gateway takes from its clients: destinations, of which the stays have no part. */
    struct sorted gateway_policies; /* struct egress_policy *, of the families of clients */
    prefix_list gateway_excluded;
};

/* The policy of a client of this gateway, in the plan; NULL: the plan has none such. */
const struct egress_policy *egress_plan_gateway_policy(const struct egress_plan *plan,
                                                       const struct egress_client *client);

void egress_plan_init(struct egress_plan *plan);
void egress_plan_done(struct egress_plan *plan);

/* The whole plan from nothing. After -ENOMEM there is none. */
int plan_egress(const struct node_facts *facts, struct egress_plan *ret_plan,
                struct faults *faults);

/* The sets of an Egress, IPv4 first; NULL for a family of which it has no destination. */
int plan_egress_sets(const struct node_facts *facts, const struct egress *egress,
                     struct egress_set *ret_sets[static 2], struct faults *faults);

/* Tells of an Egress that pods of this node name: that it does not exist, or not for them. */
int plan_egress_named(const struct node_facts *facts, const struct egress_ref *ref,
                      struct faults *faults);

/* The policy of a key. */
int plan_egress_policy(const struct node_facts *facts, const struct egress_policy_key *key,
                       struct egress_policy **ret_policy, struct faults *faults);

/* The row of an address; NULL: it is no pod's of this node, or nothing is to be said of it. */
int plan_egress_pod(const struct node_facts *facts, const struct ip *address,
                    struct egress_pod **ret_pod, struct faults *faults);

/* Appends what stays in the cluster, and sorts. */
int plan_egress_excluded(const struct node_facts *facts, prefix_list *excluded,
                         struct faults *faults);

/* The same as a gateway has it, whatever its clients' nodes serve themselves. */
int plan_egress_gateway_excluded(const struct node_facts *facts, prefix_list *excluded,
                                 struct faults *faults);

/* Appends the Egresses that this node serves as a gateway, in order. */
int plan_egress_served(const struct node_facts *facts, egress_ref_list *served,
                       struct faults *faults);

/* The row of an address on a gateway that serves these; NULL: it is no client's. */
int plan_egress_client(const struct node_facts *facts, const egress_ref_list *served,
                       const struct ip *address, struct egress_client **ret_client);
