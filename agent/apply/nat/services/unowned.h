/* SPDX-License-Identifier: Apache-2.0 */
/* Strays: entries of "frontends" that verify.c has found and that belong to no Service. */
#pragma once

#include "apply/nat/services/installed.h"

/* Records an entry for the next removal, once. `list`: sorted, datapath->unowned addresses or
 * the entries of an installed Service. Returns 0 or -ENOMEM. */
int nat_unowned_keep(nat_entry_list *list, const struct nat_entry *entry);

/* Removes the unowned addresses of the datapath from the map, unless a Service has them by now. */
void nat_unowned_remove(struct nat_datapath *datapath);
