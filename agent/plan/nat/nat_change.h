/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a change of a Service's NAT means for its addresses, so that routes and maps change in the
 * right order. Rows are nat_table.h's; NULL stands for none. Addresses are those of the Service
 * itself: a node port's are the node's, and take no part.
 */
#pragma once

#include "plan/nat/nat_table.h"

/*
 * Adds the addresses that the change takes service away from: some frontend there forwarded from
 * outside, or from pods, and none does any more. Their routes go before the maps are written.
 * (Another Service may still forward there: whether the route goes is the route planner's.)
 * Returns 0 or -ENOMEM; the list is then sorted, without duplicates, whatever was in it before.
 */
int nat_row_losses(const struct nat_row *before, const struct nat_row *after, ip_list *list);

/* Adds every address of a row, with frontends or without; returns likewise. */
int nat_row_addresses(const struct nat_row *row, ip_list *list);

/* True if both say the same: nothing would be written. */
bool nat_row_equal(const struct nat_row *a, const struct nat_row *b);
