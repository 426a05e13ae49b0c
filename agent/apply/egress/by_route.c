// SPDX-License-Identifier: Apache-2.0
/*
 * Tunnels that take the remote end from each packet's route (Calico's tunl0), for both sides of
 * egress: such a tunnel drops a packet that it gets with a next hop (bpf/nat/send.h).
 */
#include "apply/egress/datapath_inside.h"
#include "apply/egress/gateway/gateway_inside.h"

static void set(struct egress_control *control, const uint32_t *tunnels, size_t count)
{
    for (size_t i = 0; i < NAT_MAX_BY_ROUTE; i++)
        __atomic_store_n(&control->by_route[i], i < count ? tunnels[i] : 0, __ATOMIC_RELEASE);
}

void egress_datapath_set_by_route(struct egress_datapath *datapath, const uint32_t *tunnels,
                                  size_t count)
{
    set(datapath->control, tunnels, count);
}

void egress_gate_set_by_route(struct egress_gate *gate, const uint32_t *tunnels, size_t count)
{
    set(gate->control, tunnels, count);
}
