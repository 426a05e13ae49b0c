/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ways of attaching a program to an interface, behind hooks.h: TCX links (tcx.c) and
 * filters of a clsact qdisc (clsact.c). What detach.c needs of them needs no programs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/nat/hooks.h"
#include "apply/netlink/nl.h"
#include "base/vec.h"

enum nat_direction { NAT_INGRESS, NAT_EGRESS };

static inline enum nat_direction nat_hook_direction(enum nat_hook hook)
{
    return hook == NAT_HOOK_UPLINK_IN || hook == NAT_HOOK_POD_IN ? NAT_INGRESS : NAT_EGRESS;
}

/* Where a program may stand: one of ours at most. */
struct nat_place {
    uint32_t ifindex;
    enum nat_direction direction;
};

int nat_place_cmp(const void *a, const void *b);
const char *nat_direction_name(enum nat_direction direction);

typedef VEC(struct nat_place) nat_place_list;

/* nat_hooks_open() with the method chosen by the caller. */
int nat_hooks_open_by(bool tcx, struct nat_plane *plane, const char *pins,
                      struct nat_hooks **ret_hooks);

/* ---- pins.c ---- */

/* Appends the places that have a pin. That there is no folder is an empty list. */
int nat_pins_list(const char *folder, nat_place_list *places);
/* The pinned link, which the caller closes; -errno: none. */
int nat_pin_open(const char *folder, const struct nat_place *place);
/* Pins a link. Whatever is pinned there is another one, which is dead. */
int nat_pin_link(const char *folder, const struct nat_place *place, int link);
void nat_pin_remove(const char *folder, const struct nat_place *place);

/* ---- tcx.c: each returns 0 or -errno, unless it says otherwise ---- */

/* True if this kernel has TCX; asks it. */
bool tcx_supported(void);
/* The link is the caller's: it ends when its descriptor is closed, unless it is pinned. */
int tcx_attach(const struct nat_place *place, int program, int *ret_link);
/* Puts another program in its place, without a gap. */
int tcx_swap(int link, int program);
/* The id of the link's program, if the link stands in this place now; 0: it does not. */
uint32_t tcx_program(int link, const struct nat_place *place);
int tcx_detach(int link);

/* ---- clsact.c ---- */

/* Puts the program there, in the place of one of ours without a gap. The kernel's words go to
 * `text` if it refuses. */
int clsact_attach(struct nl_socket *socket, const struct nat_place *place, int program,
                  char text[static 96]);
/* The id of our filter's program; 0: there is none. */
int clsact_program(struct nl_socket *socket, const struct nat_place *place, uint32_t *ret_id);
/* Takes our filter away, and the qdisc if it is empty then. 0, too, if there was none. */
int clsact_detach(struct nl_socket *socket, const struct nat_place *place);
/* Appends where our filters stand, on all interfaces. */
int clsact_find(struct nl_socket *socket, nat_place_list *places);
