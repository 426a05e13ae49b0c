/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which load balancer addresses belong to pools, and which of these this node may announce by
 * MetalLB's advertisements. Internal to plan/.
 */
#pragma once

#include <stdbool.h>

#include "model/ip_pool.h"
#include "model/node.h"
#include "model/services/service.h"
#include "plan/facts.h"
#include "plan/routes/address_reason.h"

/* The oldest pool with the address; NULL: none. */
const struct ip_pool *advertised_pool(const struct store *store, const struct ip *ip);

/*
 * Whether advertisements let this node announce an address of a Service: REASON_ANNOUNCED, or
 * NO_ADVERTISEMENT to OTHER_NODES. Without any advertisement, and for an address of no pool, it is
 * REASON_ANNOUNCED.
 */
enum address_reason advertised_here(const struct node_facts *facts, const struct service *service,
                                    const struct ip *ip);

/* The same of another node, by its object; NULL: it has none. */
enum address_reason advertised_at(const struct store *store, const struct service *service,
                                  const struct ip *ip, const struct node *node);

/*
 * Whether an L2Advertisement selects an address of a Service for a node (NULL: any) and an
 * interface of it (NULL: any).
 */
bool advertised_on_segment(const struct store *store, const struct service *service,
                           const struct ip *ip, const struct node *node, const char *interface);

/* Appends the L2Advertisements that select an address of a Service for some node. Returns 0 or
 * -ENOMEM. */
typedef VEC(const void *) mark_list;
int advertised_by(const struct store *store, const struct service *service, const struct ip *ip,
                  mark_list *ret_marks);

/* Whether a change affects every load balancer address. */
bool advertised_affected(const struct node_facts *facts, const struct change *change);
