/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One change of one Service in progress: its old state, its new state, and what to undo.
 *
 * nat_change_begin() allocates all memory that the change may need. From the first write on, only a
 * full map or the kernel can stop the change; then its writes are undone.
 */
#pragma once

#include "apply/nat/maps/maps.h"
#include "apply/nat/services/desired.h"
#include "apply/nat/services/share.h"

struct nat_port_change {
    struct nat_installed_port *old; /* NULL: the port is new */
    struct nat_installed_port now;
};

struct nat_change {
    struct nat_datapath *datapath;
    const struct nat_desired *desired;
    struct nat_installed *installed;
    bool created;  /* the Service is new */
    uint32_t bank; /* the bank that is filled */
    int64_t now_ms;
    VEC(struct nat_port_change) ports;       /* in the order of desired->ports */
    nat_installed_ports ports_next;          /* memory for installed->ports after the change */
    nat_entry_list entries;                  /* those of `desired`, with port ids */
    struct nat_frontend_value *taken;        /* by entry: the value of another Service before */
    nat_id_list endpoints;                   /* those of `desired`, by place */
    nat_id_list begun, ended;                /* endpoint ids */
    nat_word_list words;                     /* the slots of the set that is being written */
    nat_word_list slots;                     /* the sets to which slots were allocated */
    nat_word_list sets;                      /* memory for installed->sets after the change */
    enum nat_map_index at;                   /* the map that was written last */
    struct nat_part parts[NAT_SHARED_COUNT]; /* zero: there is room for all */
};

/* Nothing is written yet. Returns 0 or -ENOMEM; to be freed in either case. */
int nat_change_begin(struct nat_change *change, struct nat_datapath *datapath,
                     const struct nat_desired *desired, struct nat_installed *installed);
void nat_change_done(struct nat_change *change);
#define AUTOCHANGE CLEANUP(nat_change_done)
