// SPDX-License-Identifier: Apache-2.0
/*
 * The arguments of GET /v1/trace, and the document Trace.
 *
 * The document's members but "flow" say what would become of a new flow: that is what the Service
 * and its endpoints decide. "hostFaults" are what may lose the packet all the same: the programs
 * are asked, not the host that lies behind them. "flow" is what one that exists does with the very
 * packet, which may be another thing for as long as it lasts. "steps" tell the same for people, in
 * order.
 */
#include "api/nat/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/document.h"
#include "api/host_faults.h"
#include "status/nat_status.h"

/* A ping has no ports; its source may have an identifier. */
static int read_protocol(const char *name, enum protocol *ret_protocol)
{
    if (strcasecmp(name, protocol_name(PROTOCOL_ICMP)) != 0)
        return protocol_parse(name, ret_protocol);
    *ret_protocol = PROTOCOL_ICMP;
    return 0;
}

int trace_question_read(const struct http_request *request, struct trace_question *ret_question,
                        const char **ret_error)
{
    const char *source = http_query(request, "source");
    const char *destination = http_query(request, "destination");
    const char *protocol = http_query(request, "protocol");
    const char *in = http_query(request, "in");
    struct trace_question question = { .in = in && *in ? in : NULL };

    if (!source || ip_port_parse(source, &question.source, &question.source_port) < 0)
        *ret_error = "source=ADDRESS or ADDRESS:PORT is needed, IPv6 as [ADDRESS]:PORT";
    else if (!protocol || read_protocol(protocol, &question.protocol) < 0)
        *ret_error = "protocol=TCP, UDP, SCTP or ICMP is needed";
    else if (!destination ||
             ip_port_parse(destination, &question.destination, &question.destination_port) < 0 ||
             (question.destination_port == 0) != (question.protocol == PROTOCOL_ICMP))
        *ret_error =
            "destination=ADDRESS:PORT is needed, IPv6 as [ADDRESS]:PORT; of ICMP without a port";
    else if (question.source.family != question.destination.family)
        *ret_error = "source and destination are of different families";
    else {
        *ret_question = question;
        return 0;
    }
    return -EINVAL;
}

static void write_place(struct json *json, const char *key, const struct nat_endpoint *place)
{
    char address[IP_STRLEN];

    if (place->ip.family == IP_NONE)
        json_null(json, key);
    else if (place->port == 0)
        json_string(json, key, ip_str(&place->ip, address));
    else
        json_stringf(json, key, place->ip.family == IP_V6 ? "[%s]:%u" : "%s:%u",
                     ip_str(&place->ip, address), place->port);
}

static void write_masquerade(struct json *json, enum trace_masquerade masquerade)
{
    switch (masquerade) {
    case TRACE_MASQUERADE_NONE:
        json_null(json, "masquerade");
        return;
    case TRACE_MASQUERADE_HAIRPIN:
        json_string(json, "masquerade", "hairpin");
        return;
    case TRACE_MASQUERADE_NO:
    case TRACE_MASQUERADE_YES:
        json_bool(json, "masquerade", masquerade == TRACE_MASQUERADE_YES);
        return;
    }
}

static const char *half_name(enum nat_half half)
{
    switch (half) {
    case NAT_HALF_FORWARD:
        return "forward";
    case NAT_HALF_REPLY:
        return "reply";
    case NAT_HALF_DIRECT:
        return "direct";
    }
    return "unknown";
}

static void write_flow(struct json *json, const struct trace_flow *flow)
{
    if (!flow->found) {
        json_null(json, "flow");
        return;
    }
    json_begin_object(json, "flow");
    json_string(json, "direction", half_name(flow->half));
    json_bool(json, "established", flow->established);
    write_place(json, "source", &flow->source);
    write_place(json, "destination", &flow->destination);
    json_bool(json, "masquerade", flow->masqueraded);
    json_int(json, "idleSeconds", flow->idle_s);
    json_end_object(json);
}

static void write_word(struct json *json, const char *key, const char *word)
{
    json_string(json, key, *word ? word : NULL);
}

static void write_count(struct json *json, const char *key, uint32_t count)
{
    if (count)
        json_int(json, key, count);
    else
        json_null(json, key);
}

static void write_egress(struct json *json, const struct trace_egress *egress)
{
    char text[PREFIX_STRLEN];

    if (egress->side == TRACE_SIDE_NONE) {
        json_null(json, "egress");
        return;
    }
    json_begin_object(json, "egress");
    json_string(json, "side", egress->side == TRACE_SIDE_CLIENT ? "client" : "gateway");
    json_string(json, "verdict", nat_act_name(egress->act));
    json_string(json, "reason", egress->reason ? egress->reason : "none");
    json_string(json, "reasonText", egress->reason_text ? egress->reason_text : "");
    write_word(json, "egress", egress->egress);
    json_string(json, "destination",
                egress->prefix.ip.family == IP_NONE ? NULL : prefix_str(&egress->prefix, text));
    json_string(json, "gateway",
                egress->gateway.family == IP_NONE ? NULL : ip_str(&egress->gateway, text));
    json_bool(json, "begun", egress->is_begun);
    write_place(json, "outerSource", &egress->outer_source);
    write_place(json, "outerDestination", &egress->outer_destination);
    write_count(json, "outerBytes", egress->room);
    write_count(json, "fits", egress->mtu);
    write_place(json, "source", &egress->source);
    write_place(json, "to", &egress->destination);
    write_word(json, "out", egress->out);
    json_end_object(json);
}

static void write_steps(struct json *json, const struct trace *trace)
{
    json_begin_array(json, "steps");
    vec_each(const struct trace_step, step, &trace->steps) {
        json_begin_object(json, NULL);
        json_string(json, "step", step->title);
        json_string(json, "text", step->text);
        json_end_object(json);
    }
    json_end_array(json);
}

/* Whether the packet is a client's from outside, which a Service forwards. */
static bool is_served(const struct trace *trace)
{
    return *trace->service && trace->act == NAT_ACT_FORWARD && trace->hook &&
           strcmp(trace->hook, nat_hook_name(NAT_HOOK_UPLINK_IN)) == 0;
}

void view_trace(const struct api_state *state, const struct trace_question *question,
                const struct trace *trace, struct text *out)
{
    const struct nat_endpoint source = { question->source, question->source_port };
    const struct nat_endpoint destination = { question->destination, question->destination_port };
    struct json json = view_begin(out, "Trace");

    json_string(&json, "in", trace->in);
    json_string(&json, "hook", trace->hook);
    write_place(&json, "source", &source);
    write_place(&json, "destination", &destination);
    json_string(&json, "protocol", protocol_name(question->protocol));
    json_string(&json, "verdict", nat_act_name(trace->act));
    json_string(&json, "reason", nat_cause_name(trace->cause));
    json_string(&json, "reasonText", nat_cause_text(trace->cause));
    json_string(&json, "service", *trace->service ? trace->service : NULL);
    json_begin_array(&json, "endpoints");
    vec_each(const struct nat_endpoint, endpoint, &trace->endpoints)
        write_place(&json, NULL, endpoint);
    json_end_array(&json);
    write_masquerade(&json, trace->masquerade);
    write_place(&json, "picked", &trace->picked);
    write_flow(&json, &trace->flow);
    write_egress(&json, &trace->egress);
    write_steps(&json, trace);
    write_host_faults(&json, state, is_served(trace) ? &question->destination : NULL);
    view_end(&json);
}
