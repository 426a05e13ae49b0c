// SPDX-License-Identifier: Apache-2.0
/*
 * Origins of the packets of a proof: outside, a pod, this node itself; see nat_origins.h. Called by
 * nat_node.c when interfaces, addresses or networks have changed.
 */
#include "engine/nat/proof/nat_origins.h"

#include "base/macro.h"

static uint32_t first_with(const struct nat_node *node, enum nat_hook hook)
{
    vec_each(const struct nat_attachment, attachment, &node->wanted) {
        if (attachment->hook == hook)
            return attachment->ifindex;
    }
    return 0;
}

static bool is_pod(const struct nat_settings *settings, const struct ip *ip)
{
    for (size_t i = 0; i < settings->pod_net_count; i++) {
        if (prefix_contains(&settings->pod_nets[i], ip))
            return true;
    }
    return false;
}

/* The node's address as a probe's source; none if it is in a pod network and so counts as a pod's.
 */
static struct ip own_source(const struct nat_settings *settings, const struct ip *ip)
{
    return is_pod(settings, ip) ? (struct ip){ 0 } : *ip;
}

/* Addresses for documentation (RFC 5737, RFC 3849), which no host has. */
static struct ip outside_source(const struct nat_settings *settings, uint8_t family)
{
    static const char *const candidates[] = { "192.0.2.1", "198.51.100.1", "203.0.113.1",
                                              "2001:db8::1", "2001:db8:ffff::1" };
    struct ip ip;
    for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
        if (ip_parse(candidates[i], &ip) == 0 && ip.family == family && !is_pod(settings, &ip))
            return ip;
    }
    return (struct ip){ 0 };
}

/*
 * The last address of the first network of a family: seldom assigned to a pod. Where there is none,
 * pods are recognized by their interface, and an unassigned address is used.
 */
static struct ip pod_source(const struct nat_settings *settings, uint8_t family)
{
    for (size_t i = 0; i < settings->pod_net_count; i++) {
        struct ip ip = settings->pod_nets[i].ip;
        if (ip.family != family)
            continue;
        for (unsigned bit = settings->pod_nets[i].length; bit < ip_bits(&ip); bit++)
            ip.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
        return ip;
    }
    return outside_source(settings, family);
}

/* One uplink of each VRF except the first uplink's; those beyond PROBE_VRFS are not probed. */
static void find_vrf_uplinks(struct nat_node *node, uint32_t first)
{
    struct probe_origins *origins = &node->origins;
    uint32_t seen[1 + PROBE_VRFS], count = 0;
    vec_each(const struct nat_attachment, it, &node->wanted) {
        bool known = it->hook != NAT_HOOK_UPLINK_IN;
        for (uint32_t i = 0; i < count; i++)
            known |= seen[i] == it->vrf;
        if (known || count == ARRAY_SIZE(seen))
            continue;
        seen[count++] = it->vrf;
        if (it->ifindex != first)
            origins->vrf_uplinks[origins->vrf_uplink_count++] = it->ifindex;
    }
}

void nat_origins_find(struct nat_node *node, const struct kernel *kernel)
{
    const struct nat_settings *settings = &node->settings;
    uint32_t uplink = first_with(node, NAT_HOOK_UPLINK_IN);
    uint32_t pod = first_with(node, NAT_HOOK_POD_IN);
    node->origins = (struct probe_origins){
        .of = {
            [NAT_ORIGIN_OUTSIDE] = {
                .there = uplink != 0,
                .hook = NAT_HOOK_UPLINK_IN,
                .ifindex = uplink,
                .ingress_ifindex = uplink,
                .v4 = outside_source(settings, IP_V4),
                .v6 = outside_source(settings, IP_V6),
            },
            [NAT_ORIGIN_POD] = {
                .there = pod != 0,
                .hook = NAT_HOOK_POD_IN,
                .ifindex = pod,
                .ingress_ifindex = pod,
                .v4 = pod_source(settings, IP_V4),
                .v6 = pod_source(settings, IP_V6),
            },
            [NAT_ORIGIN_NODE] = {
                .there = node->leads.ifindex != 0,
                .hook = NAT_HOOK_SVC_OUT,
                .ifindex = node->leads.ifindex,
                .v4 = own_source(settings, &node->leads.v4),
                .v6 = own_source(settings, &node->leads.v6),
            },
        },
        .pod_nets = settings->pod_nets,
        .pod_net_count = settings->pod_net_count,
        .attachments = node->wanted.items,
        .attachment_count = node->wanted.count,
        .own_blocks = settings->own_blocks,
        .own_block_count = settings->own_block_count,
        .links = kernel_links(kernel),
        .addresses = kernel_link_addresses(kernel),
    };
    find_vrf_uplinks(node, uplink);
}
