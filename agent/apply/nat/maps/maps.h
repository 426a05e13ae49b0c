/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maps as kernel objects: their sizes, pins and mappings. table.h (hash tables and tries) and
 * arrays.h handle their entries.
 *
 * open.c calls prepare, finish and share, in this order, around the loading of the programs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/nat/datapath.h"

struct nat_programs;

struct nat_map {
    int fd; /* borrowed from the live programs */
    uint32_t type, flags, key_size, value_size, entries;
    bool pinned;  /* the agent found it pinned, and adopted it */
    void *memory; /* arrays: all entries; else NULL */
    /* The pinned map that this one replaces, until nat_datapath_settle(); -1: none. */
    int old_fd;
    uint32_t old_entries;
};

/* Words of one half of the filter. */
uint32_t nat_filter_words(const struct nat_datapath *datapath);

/* As in bpf/service/maps.h: "flows". */
const char *nat_map_name(enum nat_map_index map);

/*
 * Sizes all maps by the options, and decides which pinned maps the live programs adopt; called
 * before these are loaded. Returns 0, or -errno with a fault.
 */
int nat_maps_prepare(struct nat_datapath *datapath, const struct nat_datapath_options *options,
                     struct faults *faults);

/*
 * After the live programs are loaded: maps the arrays into memory, copies the contents of replaced
 * maps, pins what is new. Returns 0, or -errno with a fault.
 */
int nat_maps_finish(struct nat_datapath *datapath, struct faults *faults);

/* Makes other programs use the maps of the live ones, before they are loaded. Returns 0 or
 * -errno. */
int nat_maps_share(const struct nat_datapath *datapath, struct nat_programs *programs);

/* Unmaps the arrays and closes replaced maps. Pins stay. */
void nat_maps_close(struct nat_datapath *datapath);
