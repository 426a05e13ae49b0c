/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of one Service in "frontends". */
#pragma once

#include "apply/nat/services/change.h"

/* Writes the entries that are new or differ. Returns 0, or -errno with everything unchanged. */
int nat_entries_put(struct nat_change *change);
/* Removes the installed entries that are not desired any more. Returns 0 or -errno. */
int nat_entries_drop(struct nat_change *change);
/* True if the agent's memory has the desired entries, and the filter too. Reads no hash table. */
bool nat_entries_match(const struct nat_datapath *datapath, const struct nat_installed *installed,
                       const struct nat_desired *desired);
/* Updates the agent's memory from the live map. Returns 1 if it differed, 0, or -errno. */
int nat_entries_refresh(struct nat_datapath *datapath, struct nat_installed *installed);
