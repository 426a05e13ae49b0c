// SPDX-License-Identifier: Apache-2.0
/*
 * A packet at a gateway, for `agentctl trace`. A client's packet arrives in FoU: the gateway's twin
 * (apply/egress/gateway/twin.h) reports whose it is, how it is translated, and by which route it
 * leaves. A reply from outside is found in the table of flows.
 */
#include <net/if.h>
#include <stdio.h>

#include "apply/egress/gateway/twin.h"
#include "base/net/tunnel.h"
#include "engine/egress/egress_trace.h"

static const struct ip *own_address(const struct egress_engine *egress, uint8_t family)
{
    return &egress->gateway.settings.own[family == IP_V6];
}

static struct nat_endpoint tunnel_at(const struct egress_engine *egress, const struct ip *address)
{
    return (struct nat_endpoint){ *address, egress->gateway.settings.port };
}

static const struct egress_client *find_client(const struct egress_engine *egress,
                                               const struct ip *address)
{
    const struct egress_client key = { .address = *address }, *wanted = &key;
    struct egress_client *const *found = sorted_find(&egress->plan.clients, &wanted);
    return found ? *found : NULL;
}

static bool is_translated_to(const struct egress_engine *egress, const struct ip *address)
{
    const struct ip *sources = egress->gateway.settings.source[address->family == IP_V6];
    for (size_t i = 0; i < EGRESS_SOURCES_MAX && sources[i].family != IP_NONE; i++) {
        if (ip_equal(&sources[i], address))
            return true;
    }
    return false;
}

/* ---- answers ---- */

/* A reply from outside follows its flow, back into the client's tunnel. */
static int follow_answer(const struct egress_engine *egress, const struct trace_question *question,
                         uint32_t ifindex, struct trace *trace)
{
    const struct nat_probe probe = {
        .source = question->source,
        .destination = question->destination,
        .source_port = question->source_port,
        .destination_port = question->destination_port,
        .protocol = question->protocol,
        .ifindex = ifindex,
    };
    struct trace_egress *told = &trace->egress;
    struct nat_found_flow flow;
    char to[PLACE_STRLEN], from[PLACE_STRLEN], own[PLACE_STRLEN], client[PLACE_STRLEN];
    if (!egress_gate_find_flow(egress->gateway.gate, &probe, &flow) || flow.half != NAT_HALF_REPLY)
        return 0;
    *told = (struct trace_egress){
        .side = TRACE_SIDE_GATEWAY,
        .act = NAT_ACT_FORWARD,
        .is_begun = true,
        .source = flow.source,
        .destination = flow.destination,
        .outer_source = tunnel_at(egress, own_address(egress, flow.destination.ip.family)),
        .outer_destination = tunnel_at(egress, &flow.destination.ip),
    };
    trace_tell(trace, "egress", "it answers a client's flow, and becomes %s -> %s",
               egress_trace_place(&told->source, from), egress_trace_place(&told->destination, to));
    trace_tell(trace, "wire", "%s -> %s/UDP, into the client's tunnel",
               egress_trace_place(&told->outer_source, own),
               egress_trace_place(&told->outer_destination, client));
    return 1;
}

/* ---- what clients send ---- */

static void tell_source(const struct egress_told_gateway *told, struct trace *trace)
{
    static const char *const words[] = {
        [EGRESS_TWIN_PORT_GIVEN] = "or another: it has no port to spare, and needs a block first",
        [EGRESS_TWIN_PORT_NEXT] = "the next of its ports that is free for this destination",
        [EGRESS_TWIN_PORT_FLOW] = "as its flow has it",
    };
    char place[PLACE_STRLEN];
    trace_tell(trace, "source", "becomes %s, %s", egress_trace_place(&told->wire.source, place),
               words[told->port]);
}

static void tell_back(const struct egress_engine *egress, const struct trace_question *question,
                      const struct egress_told_gateway *told, struct trace *trace)
{
    const struct nat_endpoint own = tunnel_at(egress, own_address(egress, question->source.family));
    char place[PLACE_STRLEN], from[PLACE_STRLEN], client[IP_STRLEN], name[IF_NAMESIZE];
    (void)ip_str(&question->source, client);
    for (size_t i = 0; i < egress->proving.proofs.count; i++) {
        const struct gateway_proof *proof = &egress->proving.proofs.items[i];
        if (ip_equal(&proof->address, &told->wire.source.ip) && !proof->proved)
            trace_tell(trace, "limit", "that address is not announced: %s", proof->why);
    }
    if (told->back)
        trace_tell(trace, "answer", "to %s goes back to %s in " TUNNEL_NAME " from %s, out of %s",
                   egress_trace_place(&told->wire.source, place), client,
                   egress_trace_place(&own, from), egress_trace_interface(told->back, name));
    else
        trace_tell(trace, "answer", "has no way back to %s: it is lost", client);
}

static void follow_outside(const struct egress_engine *egress,
                           const struct trace_question *question,
                           const struct egress_told_gateway *told, struct trace *trace)
{
    struct trace_egress *shown = &trace->egress;
    char place[PLACE_STRLEN], name[IF_NAMESIZE];
    shown->act = NAT_ACT_FORWARD;
    shown->is_begun |= told->port == EGRESS_TWIN_PORT_FLOW;
    shown->source = told->wire.source;
    shown->destination = told->wire.destination;
    (void)snprintf(shown->out, sizeof(shown->out), "%s", egress_trace_interface(told->what, name));
    trace_tell(trace, "check", "the source in the tunnel is the tunnel's own");
    tell_source(told, trace);
    trace_tell(trace, "then", "out of %s to %s, past the stack", shown->out,
               egress_trace_place(&shown->destination, place));
    tell_back(egress, question, told, trace);
}

/* Packets of a tunnel's sender that is no client are dropped; here it may be any other host. */
static int tell_stranger(const struct trace_question *question, struct trace *trace)
{
    char text[IP_STRLEN];
    trace_tell(trace, "egress",
               "%s is no client of this gateway: " TUNNEL_NAME " from it is dropped (%s)",
               ip_str(&question->source, text), egress_cause_name(EGRESS_CAUSE_STRANGER));
    return 0;
}

int egress_trace_gateway(const struct egress_engine *egress, const struct trace_question *question,
                         uint32_t ifindex, struct trace *trace)
{
    const struct nat_packet packet = egress_trace_packet(question);
    const struct egress_client *client = find_client(egress, &question->source);
    const struct nat_endpoint own = tunnel_at(egress, own_address(egress, question->source.family));
    struct egress_told_gateway told;
    char source[IP_STRLEN], place[PLACE_STRLEN];
    if (is_translated_to(egress, &question->destination) && !client)
        return follow_answer(egress, question, ifindex, trace);
    int r = own.ip.family == IP_NONE
                ? 0
                : egress_gate_ask_live(egress->gateway.gate, &egress->gateway.settings, &packet,
                                       ifindex, &told);
    if (r < 0)
        return r;
    if (own.ip.family == IP_NONE || told.found <= EGRESS_TWIN_NOT_OURS)
        return 0;
    if (told.found == EGRESS_TWIN_DROPPED && told.what == EGRESS_CAUSE_STRANGER)
        return tell_stranger(question, trace);
    if (trace->egress.side == TRACE_SIDE_NONE) {
        trace->egress.side = TRACE_SIDE_GATEWAY;
        trace->egress.outer_source = tunnel_at(egress, &question->source);
        trace->egress.outer_destination = own;
    }
    trace_tell(trace, "tunnel", TUNNEL_NAME " from %s to %s: it is a client%s%s%s%s",
               ip_str(&question->source, source), egress_trace_place(&own, place),
               client ? ", Pod " : "", client ? client->namespace : "", client ? "/" : "",
               client ? client->name : "");
    if (told.found == EGRESS_TWIN_DROPPED)
        egress_trace_drop(trace, (enum egress_cause)told.what);
    else if (told.found == EGRESS_TWIN_NO_ROUTE)
        egress_trace_drop(trace, EGRESS_CAUSE_NO_ROUTE);
    else
        follow_outside(egress, question, &told, trace);
    return 1;
}
