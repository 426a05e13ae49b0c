/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the host that listen on ports of Services. nat_upkeep.c asks every second. */
#pragma once

#include "apply/netlink/listening.h"
#include "plan/nat_table.h"

struct nat_engine;

/*
 * Reports a fault for each node port on which a socket of the host waits as well, on an address on
 * which the port is served.
 */
void nat_ports_report(struct nat_engine *engine);

/* The first of `list` (by listening_cmp()) whom a frontend keeps from being asked; NULL: nobody. */
const struct listening *nat_ports_shadowed(const listening_list *list,
                                           const struct nat_frontend *frontend);

/* Order by protocol, port. */
int listening_cmp(const void *a, const void *b);
