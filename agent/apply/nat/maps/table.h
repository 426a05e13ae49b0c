/* SPDX-License-Identifier: Apache-2.0 */
/* Single entries of the hash tables and tries. Each call is one system call. */
#pragma once

#include <stdint.h>

#include "apply/nat/maps/maps.h"
#include "apply/nat/maps/walk.h"

/* `flags`: BPF_ANY or BPF_NOEXIST. Returns 0, -ENOSPC (the map is full, whatever its type), -errno.
 */
int nat_table_put(const struct nat_datapath *datapath, enum nat_map_index map, const void *key,
                  const void *value, uint64_t flags);
/* Returns 0, -ENOENT or -errno. */
int nat_table_get(const struct nat_datapath *datapath, enum nat_map_index map, const void *key,
                  void *ret_value);
/* Reads and removes an entry of a hash table in one step (Linux 5.14). Returns as the above. */
int nat_table_take(const struct nat_datapath *datapath, enum nat_map_index map, const void *key,
                   void *ret_value);
/* Returns 0, also if there was no such entry, or -errno. */
int nat_table_remove(const struct nat_datapath *datapath, enum nat_map_index map, const void *key);

/* Prepares a walk over all entries; see walk.h. The caller ends it with nat_walk_done(). */
void nat_table_walk(const struct nat_datapath *datapath, enum nat_map_index map,
                    struct nat_walk *walk);
