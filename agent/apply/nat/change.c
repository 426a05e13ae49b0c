// SPDX-License-Identifier: Apache-2.0
/*
 * The memory of a change: allocated before the first write, freed when the change is done or
 * undone. rows.c makes changes; bank.c, entries.c and ranges.c carry them out. See change.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "apply/nat/change.h"
#include "apply/nat/plane_inside.h"
#include "base/clock.h"

static size_t count_old_endpoints(const struct nat_installed *installed)
{
    size_t count = 0;
    vec_each(const struct nat_installed_port, port, &installed->ports)
        count += port->endpoints.count;
    return count;
}

static int get_ports(struct nat_change *change, size_t *ret_endpoints)
{
    size_t count = change->desired->ports.count;
    if (count == 0)
        return 0;
    change->ports.items = calloc(count, sizeof(*change->ports.items));
    if (!change->ports.items)
        return -ENOMEM;
    change->ports.capacity = count;
    for (size_t i = 0; i < count; i++) {
        size_t room = change->desired->ports.items[i].room;
        int r = vec_reserve(&change->ports.items[i].now.endpoints, room);
        if (r < 0)
            return r;
        *ret_endpoints += room;
    }
    return vec_reserve(&change->ports_next, count);
}

static int get_entries(struct nat_change *change)
{
    size_t count = change->desired->entries.count;
    if (count == 0)
        return 0;
    change->taken = calloc(count, sizeof(*change->taken));
    return change->taken ? vec_reserve(&change->entries, count) : -ENOMEM;
}

int nat_change_begin(struct nat_change *change, struct nat_plane *plane,
                     const struct nat_desired *desired, struct nat_installed *installed)
{
    *change = (struct nat_change){ .plane = plane, .desired = desired, .installed = installed };
    change->now_ms = clock_mono_ms();
    size_t endpoints = 0, old = count_old_endpoints(installed);
    size_t ports = desired->ports.count + installed->ports.count;
    if (get_ports(change, &endpoints) < 0 || vec_reserve(&change->begun, endpoints) < 0 ||
        vec_reserve(&change->ended, old) < 0 ||
        vec_reserve(&change->slots, NAT_SETS * desired->ports.count) < 0 || get_entries(change) < 0)
        return -ENOMEM;
    for (int bank = 0; bank < NAT_BANKS; bank++) {
        if (vec_reserve(&installed->ranges[bank], desired->ranges.count) < 0)
            return -ENOMEM;
    }
    return nat_ids_reserve(&plane->ids, endpoints + old + (NAT_SETS + 1) * ports + 1);
}

void nat_change_done(struct nat_change *change)
{
    for (size_t i = 0; i < change->ports.capacity; i++)
        vec_done(&change->ports.items[i].now.endpoints);
    vec_done(&change->ports);
    vec_done(&change->ports_next);
    vec_done(&change->entries);
    free(change->taken);
    vec_done(&change->slots);
    vec_done(&change->begun);
    vec_done(&change->ended);
}
