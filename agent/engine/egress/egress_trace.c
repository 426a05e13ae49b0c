// SPDX-License-Identifier: Apache-2.0
/*
 * A pod's packet behind service NAT, for `agentctl trace`: by which Egress it leaves, which network
 * decided that, which gateway it is sent to and why, and how it looks on the wire.
 *
 * All of that is the result of the clients' twin (apply/egress/client/client_twin.h). The plan
 * supplies names only: of the pod, and of the Node that a gateway is. If this node itself is the
 * gateway, the gateway's part traces the rest.
 */
#include "engine/egress/egress_trace.h"

#include <net/if.h>
#include <stdio.h>

#include "apply/egress/client/client_twin.h"
#include "base/net/tunnel.h"
#include "engine/egress/egress_engine.h"

enum { LO_INDEX = 1 };

const char *egress_trace_place(const struct nat_endpoint *place, char buffer[static PLACE_STRLEN])
{
    char address[IP_STRLEN];
    (void)snprintf(buffer, PLACE_STRLEN, place->ip.family == IP_V6 ? "[%s]:%u" : "%s:%u",
                   ip_str(&place->ip, address), place->port);
    return buffer;
}

const char *egress_trace_interface(uint32_t ifindex, char buffer[static IF_NAMESIZE])
{
    const char *name = if_indextoname(ifindex, buffer);
    return name ? name : "an interface that is gone";
}

struct nat_packet egress_trace_packet(const struct trace_question *question)
{
    return (struct nat_packet){
        .source = question->source,
        .destination = question->destination,
        .source_port = question->source_port,
        .destination_port = question->destination_port,
        .protocol = question->protocol,
    };
}

void egress_trace_drop(struct trace *trace, enum egress_cause cause)
{
    trace->egress.act = NAT_ACT_DROP;
    trace->egress.reason = egress_cause_name(cause);
    trace->egress.reason_text = egress_cause_text(cause);
    trace_tell(trace, "dropped", "%s: %s", trace->egress.reason, trace->egress.reason_text);
}

static bool has_program(const struct egress_engine *egress, uint32_t ifindex, enum nat_hook hook)
{
    vec_each(const struct nat_attachment, it, &egress->attached) {
        if (it->hook == hook && it->ifindex == ifindex)
            return true;
    }
    return false;
}

/* ---- source and destination ---- */

static const struct egress_pod *find_pod(const struct egress_engine *egress,
                                         const struct ip *address)
{
    const struct egress_pod key = { .address = *address }, *wanted = &key;
    struct egress_pod *const *found = sorted_find(&egress->plan.pods, &wanted);
    return found ? *found : NULL;
}

static void tell_pod(const struct egress_engine *egress, const struct trace_question *question,
                     struct trace *trace)
{
    const struct egress_pod *pod = find_pod(egress, &question->source);
    char text[IP_STRLEN];
    (void)ip_str(&question->source, text);
    if (!pod)
        trace_tell(trace, "egress", "no pod of this node is known by %s", text);
    else if (!*pod->policy.egresses)
        trace_tell(trace, "egress", "Pod %s/%s asks for no Egress that exists", pod->namespace,
                   pod->name);
    else
        trace_tell(trace, "egress", "Pod %s/%s asks for %s%s", pod->namespace, pod->name,
                   pod->policy.egresses,
                   pod->policy.waiting ? ", and for one that does not exist" : "");
}

/* A network of the destination; `bits` -1: there is none. */
static const char *network_str(const struct ip *to, int bits, char buffer[static PREFIX_STRLEN])
{
    const struct prefix network = ip_network(to, bits > 0 ? (uint8_t)bits : 0);
    return bits < 0 ? "" : prefix_str(&network, buffer);
}

/* Which network decided. */
static void tell_route(const struct trace_question *question, const struct egress_told_client *told,
                       struct trace *trace)
{
    const struct ip *to = &question->destination;
    char leaves[PREFIX_STRLEN], excluded[PREFIX_STRLEN], text[IP_STRLEN];
    const bool by_excluded = told->stay_bits > told->bits;
    const int bits = by_excluded ? told->stay_bits : told->bits;
    const char *wide = network_str(to, told->bits, leaves);
    const char *exclusion = network_str(to, told->stay_bits, excluded);
    if (bits >= 0)
        trace->egress.prefix = ip_network(to, (uint8_t)bits);
    if (bits < 0)
        trace_tell(trace, "route", "no destination of its Egresses has %s", ip_str(to, text));
    else if (by_excluded)
        trace_tell(trace, "route", "%s stays in the cluster%s%s", exclusion,
                   *wide ? ": longer than the destination " : "", wide);
    else
        trace_tell(trace, "route", "by %s, whose destination %s has it%s%s",
                   told->egress ? told->egress : "an Egress", wide,
                   *exclusion ? ": no shorter than what stays, " : "", exclusion);
}

/* ---- to the gateway ---- */

/* The Node that a gateway is, or on which its pod runs; "": unknown. */
static const char *node_of(const struct egress_engine *egress,
                           const struct egress_told_client *told)
{
    sorted_each(struct egress_set *const, set, &egress->plan.sets) {
        vec_each(const struct egress_gateway, gateway, &(*set)->gateways) {
            if (ip_equal(&gateway->address, &told->gateway) && *gateway->node)
                return gateway->node;
        }
    }
    return "";
}

static void tell_gateway(const struct egress_engine *egress, const struct egress_told_client *told,
                         struct trace *trace)
{
    char text[IP_STRLEN];
    const char *node = node_of(egress, told), *on = *node ? " on " : "";
    (void)ip_str(&told->gateway, text);
    if (told->flags & EGRESS_TOLD_PINNED)
        trace_tell(trace, "gateway", "%s%s%s: the flow began with it", text, on, node);
    else
        trace_tell(trace, "gateway", "%s%s%s, of %u that take new flows: %s chooses", text, on,
                   node, told->active,
                   told->by_client ? "the pod's address" : "the flow, each by itself,");
}

static void tell_wire(const struct trace_question *question, const struct egress_told_client *told,
                      struct trace *trace)
{
    struct trace_egress *egress = &trace->egress;
    char from[PLACE_STRLEN], to[PLACE_STRLEN];
    egress->outer_source = told->wire.source;
    egress->outer_destination = told->wire.destination;
    egress->room = told->wire.size - told->size;
    egress->source = (struct nat_endpoint){ question->source, question->source_port };
    egress->destination =
        (struct nat_endpoint){ question->destination, question->destination_port };
    egress->mtu = told->mtu > egress->room ? told->mtu - egress->room : 0;
    trace_tell(trace, "wire",
               "%s -> %s/UDP, hop limit %u: %u bytes, %u of them " TUNNEL_NAME "'s headers",
               egress_trace_place(&egress->outer_source, from),
               egress_trace_place(&egress->outer_destination, to), told->wire.hops, told->wire.size,
               egress->room);
}

static int follow_to_gateway(const struct egress_engine *egress,
                             const struct trace_question *question,
                             const struct egress_told_client *told, struct trace *trace)
{
    char name[IF_NAMESIZE];
    trace->egress.act = NAT_ACT_FORWARD;
    trace->egress.gateway = told->gateway;
    trace->egress.is_begun = told->flags & EGRESS_TOLD_PINNED;
    tell_gateway(egress, told, trace);
    tell_wire(question, told, trace);
    (void)snprintf(trace->egress.out, sizeof(trace->egress.out), "%s",
                   egress_trace_interface(told->out, name));
    if (told->flags & EGRESS_TOLD_HERE) {
        trace_tell(trace, "then", "this node is the gateway, and takes it on lo");
        int r = egress->gateway.gate ? egress_trace_gateway(egress, question, LO_INDEX, trace) : 0;
        return r < 0 ? r : 1;
    }
    trace_tell(trace, "then", "out of %s, on a way for %u bytes: up to %u of the pod's fit",
               trace->egress.out, told->mtu, trace->egress.mtu);
    return 1;
}

static int trace_client(struct egress_engine *egress, const struct trace_question *question,
                        uint32_t ifindex, struct trace *trace)
{
    const struct nat_packet packet = egress_trace_packet(question);
    struct egress_told_client told;
    int r = egress_datapath_ask(egress->datapath, &packet, ifindex, &told);
    if (r < 0)
        return r;
    if (told.found == EGRESS_TOLD_PASSED && !(told.flags & EGRESS_TOLD_POD))
        return 0;
    trace->egress.side = TRACE_SIDE_CLIENT;
    (void)snprintf(trace->egress.egress, sizeof(trace->egress.egress), "%s",
                   told.egress ? told.egress : "");
    tell_pod(egress, question, trace);
    tell_route(question, &told, trace);
    if (told.found == EGRESS_TOLD_SENT)
        return follow_to_gateway(egress, question, &told, trace);
    if (told.found == EGRESS_TOLD_DROPPED) {
        egress_trace_drop(trace, told.cause);
        return 1;
    }
    if (told.flags & EGRESS_TOLD_INBOUND)
        trace_tell(trace, "flow", "it began outside: its answers go the way that it came");
    return 0;
}

int egress_trace(void *context, const struct trace_question *question, uint32_t ifindex,
                 struct trace *trace)
{
    struct egress_engine *egress = context;
    if (egress->datapath && has_program(egress, ifindex, EGRESS_HOOK_CLIENT_IN))
        return trace_client(egress, question, ifindex, trace);
    if (egress->gateway.gate && has_program(egress, ifindex, EGRESS_HOOK_GATEWAY_IN))
        return egress_trace_gateway(egress, question, ifindex, trace);
    return 0;
}

bool egress_engine_behind(struct engine *engine, struct trace_next *ret_next)
{
    struct egress_engine *egress = (struct egress_engine *)engine;
    *ret_next = (struct trace_next){
        .follow = egress_trace,
        .context = egress,
        .attached = &egress->attached,
    };
    return egress->hooks != NULL;
}
