// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a gateway's twin; see twin.h. The packet is in FoU, as a client's node wraps it:
 * the two IP headers come from nat_packet_build(), and the outer one is told that it has a load.
 */
#include "apply/egress/gateway/twin.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <string.h>

#include "apply/egress/gateway/gateway_inside.h"

enum {
    ETHERNET = 14,
    CLIENT_PORT = 50000,
    SERVER_PORT = 9, /* discard */
    ROOM = 2 * NAT_PACKET_MAX,
};

static uint16_t header_checksum(const struct iphdr *header)
{
    uint16_t words[sizeof(*header) / 2];
    uint32_t sum = 0;
    memcpy(words, header, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / 2; i++)
        sum += words[i];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

/* The outer headers carry `load` bytes. Their UDP checksum is none, as FoU has it. */
static void tell_load(uint8_t *packet, size_t size, size_t load)
{
    struct udphdr udp;
    memcpy(&udp, packet + size - sizeof(udp), sizeof(udp));
    udp.len = htons((uint16_t)(sizeof(udp) + load));
    udp.check = 0;
    memcpy(packet + size - sizeof(udp), &udp, sizeof(udp));
    if (size == ETHERNET + sizeof(struct ipv6hdr) + sizeof(udp)) {
        struct ipv6hdr header;
        memcpy(&header, packet + ETHERNET, sizeof(header));
        header.payload_len = udp.len;
        memcpy(packet + ETHERNET, &header, sizeof(header));
        return;
    }
    struct iphdr header;
    memcpy(&header, packet + ETHERNET, sizeof(header));
    header.tot_len = htons((uint16_t)(size - ETHERNET + load));
    header.check = 0;
    header.check = header_checksum(&header);
    memcpy(packet + ETHERNET, &header, sizeof(header));
}

/* Returns the length; 0: the addresses are of different families. */
static size_t build(const struct egress_gate_settings *settings, const struct nat_packet *inner,
                    uint8_t packet[static ROOM])
{
    uint8_t inside[NAT_PACKET_MAX];
    const struct nat_packet outer = {
        .source = inner->source,
        .destination = settings->own[inner->source.family == IP_V6],
        .source_port = settings->port,
        .destination_port = settings->port,
        .protocol = PROTOCOL_UDP,
    };
    size_t load = nat_packet_build(inner, inside), size = nat_packet_build(&outer, packet);
    if (!load || !size)
        return 0;
    load -= ETHERNET;
    tell_load(packet, size, load);
    memcpy(packet + size, inside + ETHERNET, load);
    return size + load;
}

/* Runs the twin with the words cb[0] and cb[1]. Returns 0 or -errno. */
static int run(struct egress_gate *gate, const struct egress_gate_settings *settings,
               const struct nat_packet *packet, uint32_t ifindex, const uint32_t cb[static 2],
               struct __sk_buff *ret_told, struct egress_wire *ret_wire)
{
    uint8_t in[ROOM], out[ROOM] = { 0 };
    struct __sk_buff asked = {
        .ifindex = ifindex,
        .ingress_ifindex = ifindex,
        .cb = { cb[0], cb[1] },
    };
    size_t size = build(settings, packet, in);
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
