/* SPDX-License-Identifier: Apache-2.0 */
/* The source ranges of one Service in "ranges", a list for each bank. */
#pragma once

#include "apply/nat/services/change.h"

/* Writes the desired ranges into the bank that is filled. Returns 0 or -errno. */
int nat_ranges_fill(struct nat_change *change);

/* The key of a range in the map: with its service and bank. */
struct nat_range_key nat_range_key_of(const struct nat_range_key *range, uint32_t service,
                                      uint32_t bank);
/* Asks the live map. */
bool nat_range_is_there(const struct nat_datapath *datapath, const struct nat_range_key *range,
                        uint32_t service, uint32_t bank);

/* Writes the installed ranges that are missing in the live map. Returns 1 if there were any, 0,
 * -errno. */
int nat_ranges_refresh(struct nat_datapath *datapath, struct nat_installed *installed);
/* Removes the ranges of both banks, as far as the kernel permits. Returns 0 or -errno. */
int nat_ranges_remove(struct nat_datapath *datapath, struct nat_installed *installed);
/* True if an installed list is the desired one. Reads no map. */
bool nat_ranges_match(const nat_range_list *ranges, const struct nat_desired *desired);
