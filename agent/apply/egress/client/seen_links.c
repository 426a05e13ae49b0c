// SPDX-License-Identifier: Apache-2.0
/*
 * The map of interfaces that were seen; see seen_links.h. The kernel reuses the index of a deleted
 * interface only after its counter has wrapped around.
 */
#include "apply/egress/client/seen_links.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "apply/egress/datapath_inside.h"
#include "apply/nat/maps/walk.h"
#include "base/macro.h"

int egress_seen_cmp(const void *a, const void *b)
{
    return CMP(*(const uint32_t *)a, *(const uint32_t *)b);
}

int egress_seen_adopt(struct egress_datapath *datapath)
{
    AUTOWALK struct nat_walk walk;
    nat_walk_start(&walk, datapath->fds[EGRESS_MAP_SEEN], sizeof(uint32_t), sizeof(uint32_t));
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            r = sorted_put(&datapath->seen, nat_walk_key(&walk, i));
            if (r < 0)
                return r;
        }
    }
    return r;
}

/* Adds those that the map lacks. Returns their number, or -errno. */
static int enter(struct egress_datapath *datapath, const struct sorted *seen)
{
    const uint32_t one = 1;
    int written = 0;
    sorted_each(const uint32_t, ifindex, seen) {
        if (sorted_find(&datapath->seen, ifindex))
            continue;
        if (bpf_map_update_elem(datapath->fds[EGRESS_MAP_SEEN], ifindex, &one, BPF_ANY) < 0)
            return -errno;
        int r = sorted_put(&datapath->seen, ifindex);
        if (r < 0)
            return r;
        written++;
    }
    return written;
}

int egress_datapath_see(struct egress_datapath *datapath, const struct sorted *seen)
{
    int written = enter(datapath, seen);
    if (written < 0)
        return written;
    for (size_t i = datapath->seen.count; i > 0; i--) {
        const uint32_t ifindex = *(const uint32_t *)sorted_at(&datapath->seen, i - 1);
        if (sorted_find(seen, &ifindex))
            continue;
        if (bpf_map_delete_elem(datapath->fds[EGRESS_MAP_SEEN], &ifindex) < 0 && errno != ENOENT)
            return -errno;
        sorted_remove(&datapath->seen, &ifindex);
        written++;
    }
    return written;
}
