// SPDX-License-Identifier: Apache-2.0
/*
 * The memory of a change: allocated before the first write, freed when the change is done or
 * undone. rows.c makes changes; bank.c, entries.c and ranges.c write them. See change.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/services/change.h"
#include "base/clock.h"

static int get_ports(struct nat_change *change)
{
    size_t count = change->desired->ports.count;
    if (count == 0)
        return 0;
    change->ports.items = calloc(count, sizeof(*change->ports.items));
    if (!change->ports.items)
        return -ENOMEM;
    change->ports.capacity = count;
    for (size_t i = 0; i < count; i++) {
        const struct nat_desired_port *port = &change->desired->ports.items[i];
        if (vec_reserve(&change->ports.items[i].now.endpoints, port->serving.count) < 0 ||
            vec_reserve(&change->words, port->serving.count) < 0)
            return -ENOMEM;
    }
    if (vec_reserve(&change->slots, NAT_SETS * count) < 0 ||
        vec_reserve(&change->sets, NAT_SETS * count) < 0)
        return -ENOMEM;
    return vec_reserve(&change->ports_next, count);
}

static int get_endpoints(struct nat_change *change)
{
    size_t count = change->desired->endpoints.count;
    if (vec_reserve(&change->endpoints, count) < 0 || vec_reserve(&change->begun, count) < 0)
        return -ENOMEM;
    return vec_reserve(&change->ended, change->installed->endpoints.count);
}

static int get_entries(struct nat_change *change)
{
    size_t count = change->desired->entries.count;
    if (count == 0)
        return 0;
    change->taken = calloc(count, sizeof(*change->taken));
    return change->taken ? vec_reserve(&change->entries, count) : -ENOMEM;
}

int nat_change_begin(struct nat_change *change, struct nat_datapath *datapath,
                     const struct nat_desired *desired, struct nat_installed *installed)
{
    *change =
        (struct nat_change){ .datapath = datapath, .desired = desired, .installed = installed };
    change->now_ms = clock_mono_ms();
    size_t endpoints = desired->endpoints.count + installed->endpoints.count;
    size_t ports = desired->ports.count + installed->ports.count;
    if (get_ports(change) < 0 || get_endpoints(change) < 0 || get_entries(change) < 0)
        return -ENOMEM;
    for (int bank = 0; bank < NAT_BANKS; bank++) {
        if (vec_reserve(&installed->ranges[bank], desired->ranges.count) < 0)
            return -ENOMEM;
    }
    return nat_ids_reserve(&datapath->ids, endpoints + (NAT_SETS + 1) * ports + 1);
}

void nat_change_done(struct nat_change *change)
{
    for (size_t i = 0; i < change->ports.capacity; i++)
        vec_done(&change->ports.items[i].now.endpoints);
    vec_done(&change->ports);
    vec_done(&change->ports_next);
    vec_done(&change->entries);
    free(change->taken);
    vec_done(&change->endpoints);
    vec_done(&change->begun);
    vec_done(&change->ended);
    vec_done(&change->words);
    vec_done(&change->slots);
    vec_done(&change->sets);
}
