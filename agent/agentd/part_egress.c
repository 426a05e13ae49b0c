// SPDX-License-Identifier: Apache-2.0
/* Egress for those outside: what the API may ask of its live maps. The engine itself is one of
 * part_engines. */
#include "agentd/part.h"
#include "apply/egress/seen.h"
#include "engine/egress/egress_engine.h"

static size_t live_refusals(void *context, enum egress_side side,
                            struct egress_refusal ret[static EGRESS_CAUSE_COUNT])
{
    const struct egress_datapath *datapath = egress_engine_datapath(context);
    const struct egress_gate *gate = egress_engine_gate(context);
    if (side == EGRESS_SIDE_CLIENT)
        return datapath ? egress_datapath_refusals(datapath, ret) : 0;
    return gate ? egress_gate_refusals(gate, ret) : 0;
}

static uint64_t live_sent(void *context, const char *egress, const struct ip *gateway)
{
    const struct egress_datapath *datapath = egress_engine_datapath(context);
    return datapath ? egress_datapath_sent(datapath, egress, gateway) : 0;
}

static bool live_gateway(void *context, struct egress_gateway_use *ret_use)
{
    const struct egress_gate *gate = egress_engine_gate(context);
    if (gate)
        egress_gate_use(gate, ret_use);
    return gate;
}

static bool live_client(void *context, const struct ip *address, struct egress_client_use *ret_use)
{
    const struct egress_gate *gate = egress_engine_gate(context);
    return gate && egress_gate_client_use(gate, address, ret_use);
}

static int open_egress(struct agent *agent)
{
    agent->egress_live = (struct egress_live){
        .context = engines_find(agent->engines, &egress_engine_ops),
        .refusals = live_refusals,
        .sent = live_sent,
        .gateway = live_gateway,
        .client = live_client,
    };
    return 0;
}

const struct part part_egress = {
    .name = "egress",
    .open = open_egress,
};
