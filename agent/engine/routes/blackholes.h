/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign blackholes in main that drop what this node itself sends to an announced address. Mostly
 * they are copies of the routes in the export table, made by a pipe or by a second kernel protocol
 * of BIRD.
 */
#pragma once

#include "engine/routes/route_state.h"

/*
 * Checks main if another program changed it or the work is over everything, and replaces the fault
 * about it. The kernel is queried for the route of a packet of this node: with NAT on it is routed
 * to svc0, whatever blackholes exist. Returns 0 or -errno.
 */
int blackholes_judge(struct route_engine *engine, const struct route_work *work);
