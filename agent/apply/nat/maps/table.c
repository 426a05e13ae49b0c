// SPDX-License-Identifier: Apache-2.0
/*
 * Single entries of hash tables and tries, by system calls.
 *
 * The kernel returns E2BIG for a full hash table, ENOSPC for a full trie, and ENOMEM where a table
 * without preallocation gets no memory at the moment.
 */
#include <bpf/bpf.h>
#include <errno.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/maps/table.h"

int nat_table_put(const struct nat_datapath *datapath, enum nat_map_index map, const void *key,
                  const void *value, uint64_t flags)
{
    if (bpf_map_update_elem(datapath->maps[map].fd, key, value, flags) == 0)
        return 0;
    return errno == E2BIG ? -ENOSPC : -errno;
}

int nat_table_get(const struct nat_datapath *datapath, enum nat_map_index map, const void *key,
                  void *ret_value)
{
    return bpf_map_lookup_elem(datapath->maps[map].fd, key, ret_value) < 0 ? -errno : 0;
}

int nat_table_take(const struct nat_datapath *datapath, enum nat_map_index map, const void *key,
                   void *ret_value)
{
    return bpf_map_lookup_and_delete_elem(datapath->maps[map].fd, key, ret_value) < 0 ? -errno : 0;
}

int nat_table_remove(const struct nat_datapath *datapath, enum nat_map_index map, const void *key)
{
    if (bpf_map_delete_elem(datapath->maps[map].fd, key) == 0 || errno == ENOENT)
        return 0;
    return -errno;
}

void nat_table_walk(const struct nat_datapath *datapath, enum nat_map_index map,
                    struct nat_walk *walk)
{
    const struct nat_map *it = &datapath->maps[map];
    nat_walk_start(walk, it->fd, it->key_size, it->value_size);
}
