/* SPDX-License-Identifier: Apache-2.0 */
/* Programs attached by filters of a clsact qdisc. Each returns 0 or -errno. */
#pragma once

#include "apply/nat/hooks/place.h"
#include "apply/netlink/nl.h"

/* Attaches the program, or atomically replaces one of ours. `text`: the kernel's error text. */
int clsact_attach(struct nl_socket *socket, const struct nat_place *place, int program,
                  char text[static 96]);
int clsact_look(struct nl_socket *socket, const struct nat_place *place,
                struct nat_place_state *ret_state);
/* Removes our filter, if there is one, and then the qdisc if it is empty. */
int clsact_detach(struct nl_socket *socket, const struct nat_place *place);
/* Appends the places of our filters on all interfaces. */
int clsact_find(struct nl_socket *socket, enum nat_layer layer, nat_place_list *places);
