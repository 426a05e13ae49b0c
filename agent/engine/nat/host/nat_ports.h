/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the host that listen on ports of Services. nat_upkeep.c asks every second. */
#pragma once

struct nat_engine;

/*
 * Reports a fault for each node port on which a socket of the host waits as well, on an address on
 * which the port is served.
 */
void nat_ports_report(struct nat_engine *engine);
