/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which load balancer addresses are of pools, and which of these this node may announce by
 * MetalLB's advertisements. Internal to plan/.
 */
#pragma once

#include <stdbool.h>

#include "model/ip_pool.h"
#include "model/node.h"
#include "model/services/service.h"
#include "plan/facts.h"
#include "plan/routes/address_reason.h"

/* The oldest pool that has the address; NULL: none has. */
const struct ip_pool *advertised_pool(const struct store *store, const struct ip *ip);

/*
 * Whether advertisements let this node announce an address of a Service: REASON_ANNOUNCED, or
 * NO_ADVERTISEMENT to OTHER_NODES. Where there is none at all, and for an address of no pool,
 * nothing is against it.
 */
enum address_reason advertised_here(const struct node_facts *facts, const struct service *service,
                                    const struct ip *ip);

/* The same of another node, by its object; NULL: it has none. */
enum address_reason advertised_at(const struct store *store, const struct service *service,
                                  const struct ip *ip, const struct node *node);

/*
 * Whether an L2Advertisement selects an address of a Service for a node (NULL: for any) and an
 * interface of it (NULL: whichever).
 */
bool advertised_on_segment(const struct store *store, const struct service *service,
                           const struct ip *ip, const struct node *node, const char *interface);

/* Appends the L2Advertisements that select an address of a Service for some node. Returns 0 or
 * -ENOMEM. */
typedef VEC(const void *) mark_list;
int advertised_by(const struct store *store, const struct service *service, const struct ip *ip,
                  mark_list *ret_marks);

/* Whether what changed decides about every load balancer address. */
bool advertised_affected(const struct node_facts *facts, const struct change *change);
