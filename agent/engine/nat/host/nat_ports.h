/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Node ports of Services that sockets of the host use as well. nat_upkeep.c calls it every second.
 */
#pragma once

struct nat_engine;

/*
 * Reports a fault for each node port on which a socket of the host also listens, on an address on
 * which the port is served; and one if the kernel may assign a node port to a connecting socket:
 * the port is in ip_local_port_range and not reserved.
 */
void nat_ports_report(struct nat_engine *engine);
