// SPDX-License-Identifier: Apache-2.0
/*
 * Samples of pods and clients; see nat_samples.h. One pod may be isolated by a NetworkPolicy, so
 * each is of a different Service. The outside address is that of the proofs: no host has it (RFC
 * 5737, RFC 3849), so it is routed by the default route.
 */
#include "engine/nat/pods/nat_samples.h"

#include "engine/nat/nat_state.h"

static const struct nat_endpoint *pod_of(const struct nat_family *family, enum protocol protocol)
{
    vec_each(const struct nat_frontend, frontend, &family->frontends) {
        const struct nat_port *port = &family->ports.items[frontend->port_index];
        if (frontend->protocol == protocol && port->sets[NAT_SET_LOCAL].count &&
            frontend->from[NAT_ORIGIN_OUTSIDE].act == NAT_ACT_FORWARD)
            return &port->sets[NAT_SET_LOCAL].items[0];
    }
    return NULL;
}

size_t nat_sample_pods(const struct nat_engine *engine, uint8_t family, enum protocol protocol,
                       const struct nat_endpoint *ret_pods[static NAT_SAMPLE_PODS])
{
    size_t count = 0;
    sorted_each(const struct nat_row *, row, &engine->rows) {
        for (uint32_t i = 0; i < (*row)->family_count && count < NAT_SAMPLE_PODS; i++) {
            const struct nat_family *planned = &(*row)->families[i];
            const struct nat_endpoint *pod =
                planned->family == family ? pod_of(planned, protocol) : NULL;
            if (pod)
                ret_pods[count++] = pod;
        }
    }
    return count;
}

size_t nat_sample_clients(const struct nat_engine *engine, uint8_t family,
                          struct ip ret_clients[static NAT_SAMPLE_CLIENTS])
{
    const struct nat_settings *settings = &engine->node.settings;
    const struct probe_origins *origins = &engine->node.origins;
    const struct ip stranger =
        family == IP_V6 ? origins->of[NAT_ORIGIN_OUTSIDE].v6 : origins->of[NAT_ORIGIN_OUTSIDE].v4;
    size_t count = 0;
    for (size_t i = 0; i < settings->peer_count && count == 0; i++) {
        if (settings->peers[i].family == family)
            ret_clients[count++] = settings->peers[i];
    }
    if (stranger.family != IP_NONE)
        ret_clients[count++] = stranger;
    return count;
}
