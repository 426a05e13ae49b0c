/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blackholes of others in main that swallow what this node itself sends to an announced address.
 * Mostly they are copies of the export table's: a pipe or a second kernel protocol of BIRD's takes
 * them there.
 */
#pragma once

#include "engine/routes/route_state.h"

/*
 * Looks at what main has, if somebody changed it or the work is over everything, and replaces the
 * fault that tells of it. The kernel says where a packet of this node's own would go: with NAT on
 * it goes to svc0, whatever blackhole there is. Returns 0 or -errno.
 */
int blackholes_judge(struct route_engine *engine, const struct route_work *work);
