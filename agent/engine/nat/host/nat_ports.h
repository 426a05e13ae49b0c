/* SPDX-License-Identifier: Apache-2.0 */
/* Node ports of Services that sockets of the host have, too. nat_upkeep.c asks every second. */
#pragma once

struct nat_engine;

/*
 * Reports a fault for each node port on which a socket of the host waits as well, on an address on
 * which the port is served; and one if a node port may be given to a socket that connects: it is in
 * ip_local_port_range, and not reserved.
 */
void nat_ports_report(struct nat_engine *engine);
