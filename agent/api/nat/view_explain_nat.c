// SPDX-License-Identifier: Apache-2.0
/*
 * "nat" of the document Explanation: what service NAT does with packets to an address. The
 * frontends are the plan's (that the maps say the same is a Verification's to tell), the proof and
 * the refusals are the live maps'.
 *
 * "otherPorts" follows the program's own order for a destination without frontend: a ClusterIP of
 * ours refuses, another proxy's passes, what else is in the service networks is dropped; the rest
 * goes on to the routes, where the guard's device svc0 refuses.
 */
#include "api/nat/view_explain_nat.h"

#include <string.h>

#include "api/nat/view_nat.h"
#include "api/refusals.h"
#include "api/routes/view_routes.h"
#include "api/view.h"
#include "base/macro.h"

static bool matches(const struct nat_frontend *frontend, const struct explain_query *query)
{
    return ip_equal(&frontend->address, &query->address) &&
           (query->port == 0 || frontend->port == query->port) &&
           ((int)query->protocol == 0 || frontend->protocol == query->protocol);
}

/* The first frontend of a family on an address; they are sorted by address. */
static const struct nat_frontend *first_at(const struct nat_family *family,
                                           const struct ip *address)
{
    size_t low = 0, high = family->frontends.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ip_cmp(&family->frontends.items[middle].address, address) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < family->frontends.count && ip_equal(&family->frontends.items[low].address, address)
               ? &family->frontends.items[low]
               : NULL;
}

static bool is_at(const struct nat_row *row, const struct ip *address)
{
    for (uint32_t i = 0; i < row->family_count; i++)
        if (first_at(&row->families[i], address))
            return true;
    return false;
}

static bool is_foreign(const struct sorted *rows, const struct ip *address)
{
    for (size_t i = 0; i < rows->count; i++) {
        vec_each(const struct ip, ip, &nat_row_at(rows, i)->foreign) {
            if (ip_equal(ip, address))
                return true;
        }
    }
    return false;
}

static bool in_service_nets(const struct config *config, const struct ip *address)
{
    vec_each(const struct prefix, net, &config->services.service_cidrs) {
        if (prefix_contains(net, address))
            return true;
    }
    return false;
}

static bool family_has_kind(const struct nat_family *family, const struct ip *address,
                            enum nat_frontend_kind kind)
{
    const struct nat_frontend *end = family->frontends.items + family->frontends.count;
    const struct nat_frontend *frontend = first_at(family, address);

    for (; frontend && frontend < end && ip_equal(&frontend->address, address); frontend++)
        if (frontend->kind == kind)
            return true;
    return false;
}

static bool has_kind(const struct sorted *rows, const struct ip *address,
                     enum nat_frontend_kind kind)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct nat_row *row = nat_row_at(rows, i);
        for (uint32_t f = 0; f < row->family_count; f++)
            if (family_has_kind(&row->families[f], address, kind))
                return true;
    }
    return false;
}

const char *nat_knows_address(const struct api_state *state, const struct ip *address,
                              const char **ret_text)
{
    if (!state->nat)
        return NULL;
    if (has_kind(state->nat, address, NAT_FRONTEND_NODE_PORT)) {
        *ret_text = "an address of this node, with node ports; its network announces it";
        return "node-port";
    }
    if (in_service_nets(state->config, address)) {
        *ret_text = nat_cause_text(NAT_CAUSE_UNALLOCATED);
        return nat_cause_name(NAT_CAUSE_UNALLOCATED);
    }
    return NULL;
}

static void write_other_ports(struct json *json, const struct api_state *state,
                              const struct ip *address)
{
    const struct address_row *row = find_address_row(state->plan, address);
    enum nat_act act = NAT_ACT_PASS;
    enum nat_cause cause = NAT_CAUSE_NONE;

    if (row && row->reason == REASON_LOCAL_ADDRESS) {
        cause = NAT_CAUSE_NONE; /* the node's own listeners answer */
    } else if (has_kind(state->nat, address, NAT_FRONTEND_CLUSTER_IP)) {
        act = NAT_ACT_REJECT;
        cause = NAT_CAUSE_UNDEFINED_PORT;
    } else if (is_foreign(state->nat, address)) {
        cause = NAT_CAUSE_OTHER_PROXY;
    } else if (in_service_nets(state->config, address)) {
        act = NAT_ACT_DROP;
        cause = NAT_CAUSE_UNALLOCATED;
    } else if (row && row->guarded) {
        act = NAT_ACT_REJECT;
        cause = NAT_CAUSE_UNMAPPED_PORT;
    }
    json_begin_object(json, "otherPorts");
    json_string(json, "verdict", nat_act_name(act));
    json_string(json, "reason", nat_cause_name(cause));
    json_string(json, "reasonText", cause == NAT_CAUSE_NONE ? "not NAT's" : nat_cause_text(cause));
    json_end_object(json);
}

static void write_proof(struct json *json, const struct api_state *state, const struct ip *address)
{
    struct nat_proof proof = { 0 };

    if (!state->live || !state->live->proof(state->live->context, address, &proof)) {
        json_null(json, "proof");
        return;
    }
    json_begin_object(json, "proof");
    json_bool(json, "asPlanned", proof.as_planned);
    json_bool(json, "served", proof.served);
    json_string(json, "why", *proof.why ? proof.why : NULL);
    json_end_object(json);
}

static void write_frontends(struct json *json, const struct nat_row *row,
                            const struct nat_family *family, const struct explain_query *query)
{
    const struct nat_frontend *end = family->frontends.items + family->frontends.count;
    const struct nat_frontend *frontend = first_at(family, &query->address);

    for (; frontend && frontend < end && ip_equal(&frontend->address, &query->address);
         frontend++) {
        if (!matches(frontend, query))
            continue;
        json_begin_object(json, NULL);
        json_string(json, "namespace", row->namespace);
        json_string(json, "name", row->name);
        if (row->affinity_seconds)
            json_int(json, "affinitySeconds", row->affinity_seconds);
        else
            json_null(json, "affinitySeconds");
        write_frontend_members(json, family, frontend);
        json_end_object(json);
    }
}

/* Of Services on the address; and what was refused there of none. */
static void write_refusals(struct json *json, const struct api_state *state,
                           const struct ip *address)
{
    CLEANUP(refusal_set_done) refusal_set set = { 0 };

    if (refusal_set_load(state, &set) < 0)
        json->out->failed = true;
    json_begin_array(json, "refusals");
    vec_each(const struct named_refusal, item, &set) {
        const struct nat_row *row = find_nat_row_of(state->nat, item->service);
        if (ip_equal(&item->refusal.last.destination, address) || (row && is_at(row, address)))
            write_refusal(json, state, item);
    }
    json_end_array(json);
}

void write_nat_explanation(struct json *json, const struct api_state *state,
                           const struct explain_query *query)
{
    if (!state->nat) {
        json_null(json, "nat");
        return;
    }
    json_begin_object(json, "nat");
    write_proof(json, state, &query->address);
    json_begin_array(json, "frontends");
    for (size_t i = 0; i < state->nat->count; i++) {
        const struct nat_row *row = nat_row_at(state->nat, i);
        for (uint32_t f = 0; f < row->family_count; f++)
            write_frontends(json, row, &row->families[f], query);
    }
    json_end_array(json);
    write_other_ports(json, state, &query->address);
    write_refusals(json, state, &query->address);
    json_end_object(json);
}
