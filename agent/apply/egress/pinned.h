/* SPDX-License-Identifier: Apache-2.0 */
/* What both datapaths of egress do with the maps of their programs before and after loading. */
#pragma once

#include <bpf/libbpf.h>

#include "base/fault.h"

/* Has libbpf pin all maps "egress_*" of an object, or take over what is pinned there and has their
 * shape; a pin of another shape is removed. Makes the folder. Returns 0 or -errno. */
int pinned_prepare(struct bpf_object *object, const char *folder);
/* Has libbpf give an object, which is not loaded yet, the maps "egress_*" of one that is. Returns 0
 * or -errno. */
int pinned_share(const struct bpf_object *from, struct bpf_object *to);
/* Pins again, with their folder, those maps of a loaded object whose pins somebody has removed;
 * what can't be pinned is a fault. */
void pinned_keep(const struct bpf_object *object, const char *folder, struct faults *faults);
/* Removes the pins of these maps in the folders `name`-NUMBER below `pins`, of whatever layout, and
 * the folders. Returns how many there were, or -errno. */
int pinned_remove(const char *pins, const char *name);

/* An array in memory; NULL: it can't be had. And its reverse. */
void *pinned_map_array(const struct bpf_map *map);
void pinned_unmap_array(const struct bpf_map *map, void *memory);

/* A fault for programs that can't be loaded. */
void pinned_explain(int error, struct faults *faults);
