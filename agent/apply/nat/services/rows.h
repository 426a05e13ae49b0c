/* SPDX-License-Identifier: Apache-2.0 */
/* Whole Services; the functions that write and remove them are in datapath.h. */
#pragma once

#include "apply/nat/services/desired.h"

/* True if the arrays have what is desired, and the agent's memory of the hash tables agrees. */
bool nat_row_matches(const struct nat_datapath *datapath, const struct nat_installed *installed,
                     const struct nat_desired *desired);
