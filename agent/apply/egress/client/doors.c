// SPDX-License-Identifier: Apache-2.0
/* The map of gateways' addresses; see doors.h. */
#include "apply/egress/client/doors.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "apply/egress/datapath_inside.h"
#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/walk.h"
#include "base/macro.h"

int egress_door_cmp(const void *a, const void *b)
{
    return ip_cmp(a, b);
}

int egress_doors_adopt(struct egress_datapath *datapath)
{
    AUTOWALK struct nat_walk walk;
    nat_walk_start(&walk, datapath->fds[EGRESS_MAP_DOORS], sizeof(struct nat_addr),
                   sizeof(uint32_t));
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            const struct ip ip = nat_addr_ip(nat_walk_key(&walk, i));
            r = sorted_put(&datapath->doors, &ip);
            if (r < 0)
                return r;
        }
    }
    return r;
}

static int put_door(struct egress_datapath *datapath, const struct ip *ip)
{
    const struct nat_addr addr = nat_addr_of(ip);
    const uint32_t one = 1;
    if (sorted_find(&datapath->doors, ip))
        return 0;
    if (bpf_map_update_elem(datapath->fds[EGRESS_MAP_DOORS], &addr, &one, BPF_ANY) < 0)
        return -errno;
    return sorted_put(&datapath->doors, ip);
}

static int list_doors(const struct sorted *sets, struct sorted *ret_doors)
{
    sorted_each(struct egress_set *const, set, sets) {
        vec_each(const struct egress_gateway, gateway, &(*set)->gateways) {
            int r = sorted_put(ret_doors, &gateway->address);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

int egress_doors_write(struct egress_datapath *datapath, const struct sorted *sets)
{
    AUTOSORTED struct sorted wanted = SORTED(struct ip, egress_door_cmp);
    int r = list_doors(sets, &wanted);
    sorted_each(const struct ip, ip, &wanted)
        r = r < 0 ? r : put_door(datapath, ip);
    for (size_t i = datapath->doors.count; r == 0 && i-- > 0;) {
        const struct ip gone = *(const struct ip *)sorted_at(&datapath->doors, i);
        const struct nat_addr addr = nat_addr_of(&gone);
        if (sorted_find(&wanted, &gone))
            continue;
        if (bpf_map_delete_elem(datapath->fds[EGRESS_MAP_DOORS], &addr) < 0 && errno != ENOENT)
            return -errno;
        sorted_remove(&datapath->doors, &gone);
    }
    return r;
}
