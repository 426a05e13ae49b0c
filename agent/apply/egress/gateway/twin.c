// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a gateway's twin; see twin.h. The packet is in FoU, as a client's node encapsulates it:
 * nat_packet_build() writes the two IP headers, and the length of the outer one is adjusted to its
 * payload.
 */
#include "apply/egress/gateway/twin.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "apply/egress/gateway/gateway_inside.h"

enum {
    CLIENT_PORT = 50000,
    SERVER_PORT = 9, /* discard */
};

/* Runs the twin with the words cb[0] and cb[1]. Returns 0 or -errno. */
static int run(struct egress_gate *gate, const struct egress_gate_settings *settings,
               const struct nat_packet *packet, uint32_t ifindex, const uint32_t cb[static 2],
               struct __sk_buff *ret_told, struct egress_wire *ret_wire)
{
    uint8_t in[EGRESS_WIRE_MAX], out[EGRESS_WIRE_MAX] = { 0 };
    struct __sk_buff asked = {
        .ifindex = ifindex,
        .ingress_ifindex = ifindex,
        .cb = { cb[0], cb[1] },
    };
    const struct nat_endpoint own = { settings->own[packet->source.family == IP_V6],
                                      settings->port };
    size_t size = egress_wire_wrap(packet, &own, in);
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = in, .data_size_in = (uint32_t)size,
                .data_out = out, .data_size_out = sizeof(out), .ctx_in = &asked,
                .ctx_size_in = sizeof(asked), .ctx_out = ret_told,
                .ctx_size_out = sizeof(*ret_told));
    if (size == 0)
        return -EAFNOSUPPORT;
    int r = bpf_prog_test_run_opts(egress_gate_twin(gate), &options);
    if (r < 0)
        return r;
    (void)egress_wire_read(out, options.data_size_out, ret_wire);
    return 0;
}

int egress_gate_ask(struct egress_gate *gate, const struct egress_gate_settings *settings,
                    const struct egress_question *question, struct egress_answer *ret_answer)
{
    const struct nat_packet packet = {
        .source = question->client,
        .destination = question->destination,
        .source_port = CLIENT_PORT,
        .destination_port = SERVER_PORT,
        .protocol = PROTOCOL_UDP,
    };
    struct __sk_buff told = { 0 };
    struct egress_wire wire = { 0 };
    const int place = egress_layout_find(&gate->layout, &question->source);
    if (place < 0)
        return -ENOENT;
    const uint32_t cb[] = { (uint32_t)place, 0 };
    int r = run(gate, settings, &packet, question->ifindex, cb, &told, &wire);
    if (r < 0)
        return r;
    *ret_answer = (struct egress_answer){
        .found = (enum egress_twin)told.cb[0],
        .what = told.cb[1],
        .home = told.cb[2],
        .source = wire.source.ip,
        .destination = wire.destination.ip,
    };
    return 0;
}

int egress_gate_ask_live(struct egress_gate *gate, const struct egress_gate_settings *settings,
                         const struct nat_packet *packet, uint32_t ifindex,
                         struct egress_told_gateway *ret_told)
{
    const uint8_t family = packet->source.family;
    const int place = egress_layout_find(&gate->layout, &settings->source[family == IP_V6][0]);
    const uint32_t cb[] = { place < 0 ? 0 : (uint32_t)place, EGRESS_TWIN_LIVE };
    struct __sk_buff told = { 0 };
    struct egress_wire wire = { 0 };
    int r = run(gate, settings, packet, ifindex, cb, &told, &wire);
    if (r < 0)
        return r;
    *ret_told = (struct egress_told_gateway){
        .found = (enum egress_twin)told.cb[0],
        .what = told.cb[1],
        .port = (enum egress_twin_port)told.cb[3],
        .back = told.cb[4],
        .wire = wire,
    };
    return 0;
}

bool egress_gate_find_flow(struct egress_gate *gate, const struct nat_probe *probe,
                           struct nat_found_flow *ret_flow)
{
    return nat_datapath_find_flow(gate->nat, probe, ret_flow) && ret_flow->egress &&
           !ret_flow->stale;
}
