/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effect of a change of a Service's NAT on its addresses, so that routes and maps change in the
 * right order. Rows are in nat_table.h; NULL: none. Addresses are those of the Service itself, not
 * the node's addresses of node ports.
 */
#pragma once

#include "plan/nat/nat_table.h"

/*
 * Adds the addresses that lose service by the change: some frontend there forwarded packets from
 * outside or from pods, and none does now. Their routes are withdrawn before the maps are written.
 * (Another Service may still forward there: the route planner decides about the route.) Returns 0
 * or -ENOMEM; the list is then sorted, without duplicates, whatever was in it before.
 */
int nat_row_losses(const struct nat_row *before, const struct nat_row *after, ip_list *list);

/* Adds every address of a row, with frontends or without; returns likewise. */
int nat_row_addresses(const struct nat_row *row, ip_list *list);

/* True if both are equal: nothing would be written. */
bool nat_row_equal(const struct nat_row *a, const struct nat_row *b);
