// SPDX-License-Identifier: Apache-2.0
/*
 * Plans one address of an egress gateway; see gateway_address.h.
 *
 * It is announced if and only if the gateway has proved that it forwards a client's packet with it
 * as the source, as an address of a Service is announced if NAT has proved it. Labels and
 * conditions that exclude Services from this node do not affect egress.
 *
 * While the gateway drains, the address stays announced unchanged: replies of existing flows need
 * the route, and no other node can process them. It is withdrawn after the drain.
 *
 * Packets to the address without a flow must not loop between this node and the fabric, so an
 * unreachable route is always installed. As for blocks it is in main, with the highest metric: it
 * needs no rule, and a foreign route to the same address shows that another program announces it.
 */
#include "plan/egress/gateway_address.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "faults/egress.h"
#include "faults/raise.h"
#include "plan/routes/real_address.h"
#include "plan/routes/route_table.h"

static const char place[] = "egress.gateway.addresses";

const ip_list *gateway_addresses(const struct config *config)
{
    static const ip_list none;
    return config->egress.gateway.enabled ? &config->egress.gateway.addresses : &none;
}

bool gateway_has_address(const struct config *config, const struct ip *address)
{
    vec_each(const struct ip, ip, gateway_addresses(config)) {
        if (ip_equal(ip, address))
            return true;
    }
    return false;
}

/* Whether the address reaches this node without a route of ours. */
static bool is_own(const struct node_facts *facts, const struct real_address *real)
{
    return real->reason == REASON_LOCAL_ADDRESS ||
           (real->reason == REASON_NODE_ADDRESS && strcmp(real->of, facts->config->node) == 0);
}

static void real_address_fault(const struct ip *address, const struct real_address *real,
                               struct faults *faults)
{
    char text[IP_STRLEN], reason[REASON_STRLEN];
    fault_raise(faults, place, egress_gateway_address_unusable, .address = ip_str(address, text),
                .reason = address_reason_about(real->reason, real->of, reason));
}

static void not_proved_fault(const struct ip *address, const char *why, struct faults *faults)
{
    char text[IP_STRLEN];
    fault_raise(faults, place, egress_gateway_address_not_proved, .address = ip_str(address, text),
                .reason = why);
}

void gateway_address_shared(const struct ip *address, const struct object *service,
                            struct faults *faults)
{
    AUTOFREE char *name = text_format("%s/%s", service->namespace, service->name);
    char text[IP_STRLEN];
    fault_raise(faults, place, egress_gateway_address_of_service, .address = ip_str(address, text),
                .service = name);
}

static const struct gateway_proof *proof_of(const struct route_inputs *inputs,
                                            const struct ip *address)
{
    const struct gateway_proofs *proofs = inputs->gateway;
    for (uint32_t i = 0; proofs && i < proofs->count; i++) {
        if (ip_equal(&proofs->items[i].address, address))
            return &proofs->items[i];
    }
    return NULL;
}

static enum address_reason judge(const struct route_inputs *inputs, const struct ip *address,
                                 const char **ret_of, int64_t *ret_held_ms)
{
    const struct gateway_proof *proof = proof_of(inputs, address);
    const struct hold *hold = route_inputs_held(inputs, address);
    if (inputs->standing == STANDING_GONE)
        return REASON_NODE_GONE;
    if (proof && proof->withdrawn)
        return REASON_WITHDRAWN;
    if (inputs->gateway && (!proof || !proof->proved)) {
        *ret_of = proof ? proof->why : "";
        return REASON_GATEWAY_NOT_PROVED;
    }
    if (hold) {
        *ret_held_ms = hold->until_ms;
        return REASON_HELD_DOWN;
    }
    return REASON_ANNOUNCED;
}

int plan_gateway_address(const struct route_inputs *inputs, const struct ip *address,
                         struct address_row **ret_row, struct faults *faults)
{
    struct real_address real;
    const bool is_real = real_address_of(inputs->node, address, &real);
    const char *of = "";
    int64_t held_ms = 0;
    *ret_row = NULL;
    if (is_real && is_own(inputs->node, &real))
        return 0;
    if (is_real) {
        real_address_fault(address, &real, faults);
        of = real.of;
    }
    enum address_reason reason = is_real ? real.reason : judge(inputs, address, &of, &held_ms);
    if (reason == REASON_GATEWAY_NOT_PROVED && *of)
        not_proved_fault(address, of, faults);
    struct address_row *row = calloc(1, sizeof(*row) + strlen(of) + 1);
    if (!row)
        return -ENOMEM;
    row->address = *address;
    row->reason = reason;
    row->of = strcpy((char *)row->claims, of);
    row->protocol = reason == REASON_ANNOUNCED ? ROUTE_PROTOCOL_SERVICE : 0;
    row->held_until_ms = held_ms;
    row->gateway = true;
    row->guarded = !is_real;
    *ret_row = row;
    return 0;
}
