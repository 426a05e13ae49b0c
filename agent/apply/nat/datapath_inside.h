/* SPDX-License-Identifier: Apache-2.0 */
/* The datapath itself, for the files that implement it and for their tests. Others include
 * datapath.h. */
#pragma once

#include <stdbool.h>

#include "apply/nat/datapath.h"
#include "apply/nat/flows/sweep.h"
#include "apply/nat/maps/maps.h"
#include "apply/nat/services/ids.h"
#include "apply/nat/services/installed.h"
#include "apply/nat/services/share.h"
#include "base/sorted.h"
#include "base/vec.h"

struct nat_programs;

struct nat_datapath {
    struct nat_programs *live, *twin;
    struct nat_programs *bare; /* of interfaces without an Ethernet header; NULL: not needed yet */
    int bare_error;            /* why they can't be loaded: loading is not retried */
    char *pins;                /* the folder of this layout's maps; NULL: nothing is pinned */
    char *root;                /* nat_datapath_options.pins */
    int64_t pins_well_ns;      /* last change of the folder when all pins were there; 0: check */
    unsigned pins_looks;       /* since the last check of all pins */
    struct nat_map maps[NAT_MAP_COUNT];

    /* The mapped arrays; see bpf/abi.h, and arrays.h for how they are read and written. */
    struct nat_control *control;
    __u64 *filter, *services, *slots;
    struct nat_port_value *ports;
    struct nat_endpoint_value *endpoints;
    struct nat_counter *counters;
    struct nat_pressure *pressure;
    struct nat_addr *peers;

    struct nat_ids ids;
    uint32_t pod_interfaces;             /* namespaces that have Services; 0: not set */
    int64_t headroom[NAT_SHARED_TABLES]; /* see share.c */
    struct sorted installed;             /* struct nat_installed *, by name */
    struct nat_installed **by_id;        /* by service id */
    VEC(struct ip) local;                /* this node's own addresses, sorted */
    nat_entry_list unowned;              /* entries of no Service, which the next sweep removes */
    bool filter_litter;                  /* the filter has bits of removed entries */
    bool filter_refilling;               /* its idle half is being refilled */
    struct nat_sweep sweep;
    nat_clientless_judge *is_clientless; /* NULL: no gateway uses this datapath */
    const void *clientless_context;
    const struct nat_flow_counter *counter; /* NULL: a gateway's flows are not counted */
    void *counter_context;
};
