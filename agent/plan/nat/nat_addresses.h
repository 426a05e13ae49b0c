/* SPDX-License-Identifier: Apache-2.0 */
/* This node's own addresses, as NAT needs them. Pure. */
#pragma once

#include "base/net/ip.h"
#include "model/node.h"
#include "plan/facts.h"

/* This node's own object; NULL: there is none. Borrowed from the store. */
const struct node *nat_this_node(const struct node_facts *facts);

/*
 * The node's primary address of a family: the first InternalIP of its object, or else the source
 * address of the default route. NULL: neither is known. Borrowed from the facts.
 */
const struct ip *nat_primary(const struct node_facts *facts, uint8_t family);

/*
 * Appends the addresses of a family on which node ports are served, by services.nodePortAddresses:
 * the primary one, those in the ranges, or every one; the list is then sorted, without duplicates.
 * When they change, every Service is to be planned again. Returns 0 or -ENOMEM.
 */
int nat_node_port_addresses(const struct node_facts *facts, uint8_t family, ip_list *list);
