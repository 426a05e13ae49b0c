// SPDX-License-Identifier: Apache-2.0
/* Called by the loader of a folder, by `agentctl plan` and by doctor; see conflicts.h. */
#include "source/conflicts.h"

#include "store/left_out.h"

void manifest_conflicts(const struct store *store, struct faults *faults)
{
    store_conflicts(store, faults);
    store_left_out_faults(store, faults);
}
