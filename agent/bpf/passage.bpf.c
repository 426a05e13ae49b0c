// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A test packet through the stack: it shows whether a packet that enters by one interface leaves by
 * another, or is dropped on the path. apply/nat/proof/passage.c drives both programs.
 *
 *   passage_send   is run by BPF_PROG_TEST_RUN; puts its packet into the ingress of an interface,
 *                  as if it had entered there
 *   passage_catch  is attached to the egress of another one for that time; counts the packet,
 *                  and drops it, so that no host receives it
 *
 * The packet is a SYN with an unpredictable sequence number, or a UDP datagram with that number as
 * its data. passage_catch passes all other packets.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

__u32 sequence; /* of the packet in flight, as on the wire */
__u32 arrived;  /* how often it was caught */

SEC("tc")
int passage_send(struct __sk_buff *skb)
{
    skb->mark = skb->cb[1];
    return (int)bpf_clone_redirect(skb, skb->cb[0], BPF_F_INGRESS);
}

/* The offset of the header behind a plain IP header, and its protocol; 0: it is not TCP or UDP. */
static __always_inline __u32 upper_offset(struct __sk_buff *skb, __u8 *ret_protocol)
{
    struct iphdr four;
    struct ipv6hdr six;
    if (skb->protocol == bpf_htons(ETH_P_IP) &&
        bpf_skb_load_bytes_relative(skb, 0, &four, sizeof(four), BPF_HDR_START_NET) == 0 &&
        four.ihl == sizeof(four) / 4) {
        *ret_protocol = four.protocol;
        return sizeof(four);
    }
    if (skb->protocol == bpf_htons(ETH_P_IPV6) &&
        bpf_skb_load_bytes_relative(skb, 0, &six, sizeof(six), BPF_HDR_START_NET) == 0) {
        *ret_protocol = six.nexthdr;
        return sizeof(six);
    }
    return 0;
}

static __always_inline int is_ours(struct __sk_buff *skb, __u32 offset, __u8 protocol)
{
    struct tcphdr tcp;
    __u32 data;
    if (protocol == IPPROTO_TCP)
        return bpf_skb_load_bytes_relative(skb, offset, &tcp, sizeof(tcp), BPF_HDR_START_NET) ==
                   0 &&
               tcp.syn && tcp.seq == sequence;
    return protocol == IPPROTO_UDP &&
           bpf_skb_load_bytes_relative(skb, offset + sizeof(struct udphdr), &data, sizeof(data),
                                       BPF_HDR_START_NET) == 0 &&
           data == sequence;
}

SEC("tc")
int passage_catch(struct __sk_buff *skb)
{
    __u8 protocol = 0;
    const __u32 offset = upper_offset(skb, &protocol);
    if (!offset || !is_ours(skb, offset, protocol))
        return TC_ACT_UNSPEC;
    __sync_fetch_and_add(&arrived, 1);
    return TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
