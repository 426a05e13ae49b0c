// SPDX-License-Identifier: Apache-2.0
/*
 * Runs the twin: one packet, by BPF_PROG_TEST_RUN on the live maps. Called by prove.c and `agentctl
 * trace`.
 *
 * The kernel takes the devices from the context: `ifindex`, and `ingress_ifindex`, which is 0 for
 * packets of the node itself. It looks up routes in the network namespace of the caller. The words
 * of cb[], and the mark, are passed in and returned (seen on 6.1, 6.12, 6.18). A run is one system
 * call of some microseconds; it sends nothing, and the twin writes nothing.
 *
 * A flow is looked up as in the program, but by system call: that does not count as a use in the
 * LRU table.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "apply/nat/flows/flows.h"
#include "apply/nat/hooks/programs.h"
#include "apply/nat/maps/arrays.h"
#include "apply/nat/maps/table.h"
#include "apply/nat/proof/packet.h"
#include "base/clock.h"

static void read_endpoint(const struct nat_datapath *datapath, uint32_t id,
                          struct nat_endpoint *ret)
{
    if (id > 0 && id < datapath->maps[NAT_MAP_ENDPOINTS].entries)
        *ret = nat_endpoint_of(datapath, id);
}

int nat_datapath_probe(struct nat_datapath *datapath, const struct nat_probe *probe,
                       struct nat_answer *ret_answer)
{
    const struct nat_packet packet = {
        .source = probe->source,
        .destination = probe->destination,
        .source_port = probe->source_port,
        .destination_port = probe->destination_port,
        .protocol = probe->protocol,
    };
    uint8_t data[NAT_PACKET_MAX];
    struct __sk_buff in = {
        .ifindex = probe->ifindex,
        .ingress_ifindex = probe->ingress_ifindex,
        .cb = { probe->pick,
                (probe->see_flows ? NAT_DRY_FLOWS : 0) | (probe->see_came ? NAT_DRY_CAME : 0) },
    };
    struct __sk_buff out;
    size_t size = nat_packet_build(&packet, data);
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = data, .data_size_in = (uint32_t)size,
                .ctx_in = &in, .ctx_size_in = sizeof(in), .ctx_out = &out,
                .ctx_size_out = sizeof(out));

    if (size == 0)
        return -EINVAL;
    int r = bpf_prog_test_run_opts(nat_datapath_twin(datapath, probe->hook), &options);
    if (r < 0)
        return r;
    *ret_answer = (struct nat_answer){
        .act = out.cb[0] & 0xff,
        .cause = out.cb[0] >> 8 & 0xff,
        .masquerade = out.cb[0] >> 16 & 0xff,
        .route = (int)(out.cb[0] >> 24),
        .out = out.mark,
        .service = out.cb[1],
        .port = out.cb[2],
        .endpoint = out.cb[3],
        .set = out.cb[4] >> 31,
        .count = out.cb[4] & 0x7fffffff,
    };
    read_endpoint(datapath, out.cb[3], &ret_answer->endpoint_value);
    return 0;
}

bool nat_datapath_find_flow(struct nat_datapath *datapath, const struct nat_probe *probe,
                            struct nat_found_flow *ret_flow)
{
    const struct nat_tuple tuple = {
        .src = nat_addr_of(&probe->source),
        .dst = nat_addr_of(&probe->destination),
        .sport = htons(probe->source_port),
        .dport = htons(probe->destination_port),
        .protocol = (uint8_t)probe->protocol,
    };
    struct nat_flow flow;

    if (nat_table_get(datapath, NAT_MAP_FLOWS, &tuple, &flow) < 0 || !nat_flow_whole(&tuple, &flow))
        return false;
    const struct nat_tuple *to = flow.half == NAT_HALF_DIRECT ? &tuple : &flow.to;
    *ret_flow = (struct nat_found_flow){
        .half = flow.half,
        .state = nat_flow_state_of(datapath, &tuple, &flow),
        .masqueraded = (flow.flags & (NAT_FLOW_MASQ | NAT_FLOW_HAIRPIN)) != 0,
        .egress = flow.delivery == NAT_DELIVER_EGRESS,
        .stale = nat_flow_stale(datapath, &flow) || nat_flow_is_clientless(datapath, &flow),
        .source = { nat_addr_ip(&to->src), ntohs(to->sport) },
        .destination = { nat_addr_ip(&to->dst), ntohs(to->dport) },
        .idle_s = nat_flow_idle(&flow, (uint32_t)(clock_mono_ms() / SECOND_MS)),
    };
    return true;
}
