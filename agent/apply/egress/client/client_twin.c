// SPDX-License-Identifier: Apache-2.0
/*
 * Runs the clients' twin; see client_twin.h. It is the same program, loaded a second time at the
 * first call, with the maps of the program that handles packets. Only its scratch map is separate.
 */
#include "apply/egress/client/client_twin.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "apply/egress/datapath_inside.h"
#include "apply/egress/pinned.h"
#include "apply/nat/maps/addr.h"
#include "base/macro.h"
#include "bpf/egress_client.skel.h"

enum { ETHERNET = 14, FAMILY_BITS = 96, POLICY_BITS = 32 };

DEFINE_CLEANUP(struct egress_client_programs *, egress_client_programs__destroy);

static int load(struct egress_datapath *datapath)
{
    CLEANUP(egress_client_programs__destroyp)
    struct egress_client_programs *twin = egress_client_programs__open();
    if (!twin)
        return errno ? -errno : -ENOMEM;
    twin->rodata_twin->dry_run = 1;
    int r = bpf_program__set_autoload(twin->progs.client_out, false);
    if (r < 0)
        return r;
    r = bpf_program__set_autoload(twin->progs.client_guard, false);
    if (r < 0)
        return r;
    r = pinned_share(datapath->programs->obj, twin->obj);
    if (r < 0)
        return r;
    r = egress_client_programs__load(twin);
    if (r < 0)
        return r;
    datapath->twin = TAKE_PTR(twin);
    return 0;
}

/* The prefix length of the trie, as that of an address. */
static int bits_of(uint32_t bits, uint8_t family)
{
    uint32_t front = family == IP_V4 ? POLICY_BITS + FAMILY_BITS : POLICY_BITS;
    return bits >= front ? (int)(bits - front) : -1;
}

static void name_set(const struct egress_datapath *datapath, uint32_t id,
                     struct egress_told_client *told)
{
    if (id == 0 || id >= datapath->set_limit)
        return;
    sorted_each(struct egress_installed_set, set, &datapath->sets) {
        if (set->id == id)
            told->egress = set->egress;
    }
    told->by_client = !(datapath->set_words[id] & EGRESS_SET_FLOWS);
    for (size_t i = 0; i < EGRESS_SET_MAX; i++)
        told->active +=
            (datapath->gateways[id * EGRESS_SET_MAX + i].word & EGRESS_GATEWAY_ACTIVE) != 0;
}

static void read_words(const struct egress_datapath *datapath, const struct __sk_buff *words,
                       uint8_t family, struct egress_told_client *told)
{
    const uint32_t gateway = words->cb[2];
    told->found = (enum egress_told)(words->cb[0] & 0xff);
    told->cause = (enum egress_cause)(words->cb[0] >> 8 & 0xff);
    told->flags = words->cb[0] >> 16;
    told->bits = bits_of(words->cb[3] & 0xffff, family);
    told->stay_bits = bits_of(words->cb[3] >> 16, family);
    told->out = words->cb[4];
    told->mtu = words->mark;
    name_set(datapath, words->cb[1], told);
    if (gateway && gateway < datapath->set_limit * EGRESS_SET_MAX)
        told->gateway = nat_addr_ip(&datapath->gateways[gateway].addr);
}

int egress_datapath_ask(struct egress_datapath *datapath, const struct nat_packet *packet,
                        uint32_t ifindex, struct egress_told_client *ret_told)
{
    uint8_t in[NAT_PACKET_MAX], out[EGRESS_WIRE_MAX];
    struct __sk_buff asked = { .ifindex = ifindex, .ingress_ifindex = ifindex };
    struct __sk_buff words = { 0 };
    size_t size = nat_packet_build(packet, in);
    int r = size == 0 ? -EAFNOSUPPORT : datapath->twin ? 0 : load(datapath);
    if (r < 0)
        return r;
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = in, .data_size_in = (uint32_t)size,
                .data_out = out, .data_size_out = sizeof(out), .ctx_in = &asked,
                .ctx_size_in = sizeof(asked), .ctx_out = &words, .ctx_size_out = sizeof(words));
    r = bpf_prog_test_run_opts(bpf_program__fd(datapath->twin->progs.client_in), &options);
    if (r < 0)
        return r;
    *ret_told = (struct egress_told_client){ .size = (uint32_t)(size - ETHERNET) };
    read_words(datapath, &words, packet->source.family, ret_told);
    if (ret_told->found == EGRESS_TOLD_SENT &&
        !egress_wire_read(out, options.data_size_out, &ret_told->wire))
        return -EBADMSG;
    return 0;
}
