/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One change of one Service under way: what it was, what it becomes, and what to undo.
 *
 * nat_change_begin() gets all memory that the change may need, so that from the first write on only
 * a full map, or the kernel, can stop it; then it is undone.
 */
#pragma once

#include "apply/nat/desired.h"
#include "apply/nat/plane_inside.h"

struct nat_port_change {
    struct nat_installed_port *old; /* NULL: the id is new */
    struct nat_installed_port now;
};

struct nat_change {
    struct nat_plane *plane;
    const struct nat_desired *desired;
    struct nat_installed *installed;
    bool created;  /* the Service is new */
    uint32_t bank; /* which is filled */
    int64_t now_ms;
    VEC(struct nat_port_change) ports; /* as in the desired */
    nat_installed_ports ports_next;    /* room for them in `installed` */
    nat_entry_list entries;            /* of the desired, with port ids */
    struct nat_frontend_value *taken;  /* by entry: what another Service had there */
    VEC(uint64_t) slots;               /* sets for which slots were taken */
    nat_id_list begun, ended;          /* endpoints */
    enum nat_map_index at;             /* the map that was written last */
};

int nat_change_begin(struct nat_change *change, struct nat_plane *plane,
                     const struct nat_desired *desired, struct nat_installed *installed);
void nat_change_done(struct nat_change *change);
#define AUTOCHANGE CLEANUP(nat_change_done)

/* ---- bank.c: ports, slots and endpoints ---- */

/* Fills the idle bank. -ENOSPC: `at` is full. */
int nat_bank_fill(struct nat_change *change);
/* Gives back all that nat_bank_fill() took. */
void nat_bank_undo(struct nat_change *change);
/* After the switch: ends what is gone, gives back what only the other bank used. */
void nat_bank_settle(struct nat_change *change);
/* Whether a port is as wished in the bank in force. */
bool nat_bank_stands(const struct nat_plane *plane, const struct nat_installed *installed,
                     const struct nat_installed_port *port, const struct nat_desired_port *desired);

/* ---- entries.c: "frontends" ---- */

/* Puts what is new or differs; on failure all is as it was. */
int nat_entries_put(struct nat_change *change);
/* Removes what is not wished any more. */
int nat_entries_drop(struct nat_change *change);
bool nat_entries_stand(const struct nat_plane *plane, const struct nat_installed *installed,
                       const struct nat_desired *desired);
/* Asks the live map for what is installed. Returns 1 if it differed, 0, -errno. */
int nat_entries_refresh(struct nat_plane *plane, struct nat_installed *installed);

/* ---- ranges.c ---- */

/* The bank's ranges become those of the desired. */
int nat_ranges_fill(struct nat_change *change);
struct nat_range_key nat_range_key_of(const struct nat_range_key *range, uint32_t service,
                                      uint32_t bank);
bool nat_range_is_there(const struct nat_plane *plane, const struct nat_range_key *range,
                        uint32_t service, uint32_t bank);
/* Puts what is installed and not in the live map. Returns 1 if there was such, 0, -errno. */
int nat_ranges_refresh(struct nat_plane *plane, struct nat_installed *installed);
int nat_ranges_remove(struct nat_plane *plane, struct nat_installed *installed);
bool nat_ranges_stand(const nat_range_list *ranges, const struct nat_desired *desired);

/* ---- rows.c ---- */

/* Whether the arrays say what is wished, and memory that the hash tables do. */
bool nat_row_stands(const struct nat_plane *plane, const struct nat_installed *installed,
                    const struct nat_desired *desired);
