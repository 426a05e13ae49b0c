// SPDX-License-Identifier: Apache-2.0
/*
 * Removes unowned addresses. An entry of an installed Service that no row wants is added to that
 * Service's entries, so that its next write removes it; an entry of no Service is added to the
 * datapath's list, and the next round of the sweep removes it.
 */
#include "apply/nat/services/unowned.h"

#include "apply/nat/datapath_inside.h"
#include "apply/nat/maps/table.h"

int nat_unowned_keep(nat_entry_list *list, const struct nat_entry *entry)
{
    vec_each(const struct nat_entry, it, list) {
        if (nat_entry_cmp(it, entry) == 0)
            return 0;
    }
    int r = vec_push(list, *entry);
    if (r < 0)
        return r;
    vec_sort(list, nat_entry_cmp);
    return 0;
}

void nat_unowned_remove(struct nat_datapath *datapath)
{
    vec_each(const struct nat_entry, entry, &datapath->unowned) {
        struct nat_frontend_value value;
        if (nat_table_get(datapath, NAT_MAP_FRONTENDS, &entry->key, &value) == 0 &&
            !nat_installed_by_id(datapath, value.service))
            (void)nat_table_remove(datapath, NAT_MAP_FRONTENDS, &entry->key);
    }
    vec_clear(&datapath->unowned);
}
