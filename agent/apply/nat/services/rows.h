/* SPDX-License-Identifier: Apache-2.0 */
/* Whole Services; what writes and removes them is in datapath.h. */
#pragma once

#include "apply/nat/services/desired.h"

/* True if the arrays have what is desired, and memory says the same of the hash tables. */
bool nat_row_matches(const struct nat_datapath *datapath, const struct nat_installed *installed,
                     const struct nat_desired *desired);
