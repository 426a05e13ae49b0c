/* SPDX-License-Identifier: Apache-2.0 */
/* Ports that the kernel gives to sockets of this node. nat_upkeep.c asks every second. */
#pragma once

struct nat_engine;

/*
 * Reports a fault if a node port may be given to a socket that connects: it is in
 * ip_local_port_range, and not reserved.
 */
void nat_local_ports_report(struct nat_engine *engine);
