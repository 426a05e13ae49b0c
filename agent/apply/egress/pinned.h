/* SPDX-License-Identifier: Apache-2.0 */
/* Handling of maps before and after loading, shared by both datapaths of egress. */
#pragma once

#include <bpf/libbpf.h>

#include "base/fault.h"

/* Makes libbpf pin all maps "egress_*" of an object, or reuse maps that are pinned there and
 * have the same layout; a pin of another layout is removed. Makes the folder. Returns 0 or
 * -errno. */
int pinned_prepare(struct bpf_object *object, const char *folder);
/* Makes an object that is not loaded yet use the maps "egress_*" of a loaded one. Returns 0 or
 * -errno. */
int pinned_share(const struct bpf_object *from, struct bpf_object *to);
/* Restores, with their folder, the pins of a loaded object's maps that another program has
 * removed; a map that can't be pinned is a fault. */
void pinned_keep(const struct bpf_object *object, const char *folder, struct faults *faults);
/* Removes the pins of these maps in the folders `name`-NUMBER below `pins`, of any layout, and
 * the folders. Returns the number of pins, or -errno. */
int pinned_remove(const char *pins, const char *name);

/* Maps an array into memory; NULL: it failed. And unmaps it. */
void *pinned_map_array(const struct bpf_map *map);
void pinned_unmap_array(const struct bpf_map *map, void *memory);

/* Adds a fault for programs that can't be loaded. */
void pinned_explain(int error, struct faults *faults);
