// SPDX-License-Identifier: Apache-2.0
/*
 * svc0, made and kept by rtnetlink; see svc0.h.
 *
 * What it must be, and why:
 * - no ARP: whatever is routed there needs no neighbour, in both families;
 * - no address, not even a link-local one of IPv6 (address generation off, per interface), so that
 *   nothing listens there, and no duplicate address detection delays the first packet;
 * - always the same MAC addresses, of our own making: replies to the node's own packets are
 *   received with svc0's, which the program must know.
 *
 * The kernel takes alias and address generation of an interface that exists only. A crash in
 * between leaves a pair without alias, which is known by its MAC address. The pair comes up last:
 * a link-local address is made in that moment.
 */
#include "apply/nat/svc0.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "apply/links.h"
#include "apply/netlink/nl.h"
#include "base/macro.h"

/* Locally administered; then "fpsv". */
static const uint8_t macs[2][6] = { { 0x02, 0x66, 0x70, 0x73, 0x76, 0x00 },
                                    { 0x02, 0x66, 0x70, 0x73, 0x76, 0x01 } };
static const char *const names[2] = { SVC0_NAME, SVC0_PEER_NAME };

/* IPv6 asks for it of every interface that it may use. */
enum { MTU_MIN = 1280, MTU_MAX = 65535 };

/* One end, as the kernel has it. */
struct end {
    struct link link; /* ifindex 0: it is not there */
    uint32_t peer;
    bool arp;
    bool generates; /* addresses of IPv6 */
};

static const struct nlattr *find_in(const struct nlattr *nest, uint16_t type)
{
    const char *end = (const char *)mnl_attr_get_payload(nest) + mnl_attr_get_payload_len(nest);
    const struct nlattr *it = mnl_attr_get_payload(nest);
    for (; mnl_attr_ok(it, (int)(end - (const char *)it)); it = mnl_attr_next(it)) {
        if (mnl_attr_get_type(it) == type)
            return it;
    }
    return NULL;
}

/* Without IPv6 there is nothing of it. */
static bool generates_addresses(const struct nlattr *families)
{
    const struct nlattr *v6 = find_in(families, AF_INET6);
    const struct nlattr *mode = v6 ? find_in(v6, IFLA_INET6_ADDR_GEN_MODE) : NULL;
    return mode && mnl_attr_get_payload_len(mode) == 1 &&
           mnl_attr_get_u8(mode) != IN6_ADDR_GEN_MODE_NONE;
}

static int on_link(const struct nlmsghdr *row, void *context)
{
    struct end *end = context;
    const struct ifinfomsg *fixed = mnl_nlmsg_get_payload(row);
    if (!decode_link(row, &end->link))
        return 0;
    end->arp = !(fixed->ifi_flags & IFF_NOARP);
    const struct nlattr *it = NULL;
    while ((it = nl_next_attribute(row, sizeof(*fixed), it))) {
        uint16_t type = mnl_attr_get_type(it);
        if (type == IFLA_LINK && mnl_attr_get_payload_len(it) == sizeof(uint32_t))
            end->peer = mnl_attr_get_u32(it);
        if (type == IFLA_AF_SPEC)
            end->generates = generates_addresses(it);
    }
    return 0;
}

static int find_end(struct nl_socket *socket, const char *name, struct end *ret_end)
{
    struct ifinfomsg fixed = { .ifi_family = AF_UNSPEC };
    struct end end = { 0 };
    struct nl_request request;
    nl_begin(&request, RTM_GETLINK, 0, &fixed, sizeof(fixed));
    nl_put_string(&request, IFLA_IFNAME, name);
    int r = nl_get(socket, &request, on_link, &end);
    if (r < 0 && r != -ENODEV)
        return r;
    *ret_end = end;
    return 0;
}

/* An unfinished one has no alias yet. */
static bool is_ours(const struct end *end, const uint8_t mac[6])
{
    if (strcmp(end->link.kind, "veth") != 0)
        return false;
    if (end->link.alias[0])
        return ours_is_alias(end->link.alias);
    return memcmp(end->link.mac, mac, 6) == 0;
}

/* What the kernel said to one request. */
static int send_one(struct nl_socket *socket, struct nl_request *request, struct nl_result *result)
{
    *result = (struct nl_result){ 0 };
    int r = nl_batch(socket, request, 1, result);
    return r < 0 ? r : result->error;
}

static int make_pair(struct nl_socket *socket, uint32_t mtu, struct nl_result *result)
{
    struct ifinfomsg fixed = { .ifi_family = AF_UNSPEC };
    struct nl_request request;
    nl_begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &fixed, sizeof(fixed));
    nl_put_string(&request, IFLA_IFNAME, names[0]);
    nl_put_bytes(&request, IFLA_ADDRESS, macs[0], sizeof(macs[0]));
    nl_put_u32(&request, IFLA_MTU, mtu);
    struct nlattr *info = nl_begin_nest(&request, IFLA_LINKINFO, NULL, 0);
    nl_put_string(&request, IFLA_INFO_KIND, "veth");
    struct nlattr *data = nl_begin_nest(&request, IFLA_INFO_DATA, NULL, 0);
    struct nlattr *peer = nl_begin_nest(&request, VETH_INFO_PEER, &fixed, sizeof(fixed));
    nl_put_string(&request, IFLA_IFNAME, names[1]);
    nl_put_bytes(&request, IFLA_ADDRESS, macs[1], sizeof(macs[1]));
    nl_put_u32(&request, IFLA_MTU, mtu);
    nl_end_nest(&request, peer);
    nl_end_nest(&request, data);
    nl_end_nest(&request, info);
    return send_one(socket, &request, result);
}

static int remove_pair(struct nl_socket *socket, uint32_t ifindex, struct nl_result *result)
{
    struct ifinfomsg fixed = { .ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex };
    struct nl_request request;
    nl_begin(&request, RTM_DELLINK, 0, &fixed, sizeof(fixed));
    return send_one(socket, &request, result);
}

static bool is_finished(const struct end *end, const uint8_t mac[6], uint32_t mtu)
{
    return end->link.up && !end->arp && !end->generates && end->link.mtu == mtu &&
           memcmp(end->link.mac, mac, 6) == 0 && ours_is_alias(end->link.alias);
}

static int set_up(struct nl_socket *socket, const struct end *end, struct nl_result *result)
{
    struct ifinfomsg fixed = {
        .ifi_family = AF_UNSPEC,
        .ifi_index = (int)end->link.ifindex,
        .ifi_flags = IFF_UP,
        .ifi_change = IFF_UP,
    };
    struct nl_request request;
    nl_begin(&request, RTM_NEWLINK, 0, &fixed, sizeof(fixed));
    return send_one(socket, &request, result);
}

static int finish_end(struct nl_socket *socket, const struct end *end, const uint8_t mac[6],
                      uint32_t mtu, struct nl_result *result)
{
    struct ifinfomsg fixed = {
        .ifi_family = AF_UNSPEC,
        .ifi_index = (int)end->link.ifindex,
        .ifi_flags = IFF_NOARP,
        .ifi_change = IFF_NOARP,
    };
    struct nl_request request;
    nl_begin(&request, RTM_NEWLINK, 0, &fixed, sizeof(fixed));
    nl_put_string(&request, IFLA_IFALIAS, OURS_NAME);
    nl_put_u32(&request, IFLA_MTU, mtu);
    nl_put_bytes(&request, IFLA_ADDRESS, mac, 6);
    if (end->generates) {
        struct nlattr *families = nl_begin_nest(&request, IFLA_AF_SPEC, NULL, 0);
        struct nlattr *v6 = nl_begin_nest(&request, AF_INET6, NULL, 0);
        nl_put_u8(&request, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
        nl_end_nest(&request, v6);
        nl_end_nest(&request, families);
    }
    int r = send_one(socket, &request, result);
    return r < 0 ? r : set_up(socket, end, result);
}

static int find_both(struct nl_socket *socket, struct end ends[static 2])
{
    int r = find_end(socket, names[0], &ends[0]);
    return r < 0 ? r : find_end(socket, names[1], &ends[1]);
}

static int foreign(const char *name, struct faults *faults)
{
    char place[32] = "interface ";
    faults_add(faults, strcat(place, name),
               "rename that interface: service NAT needs the names " SVC0_NAME
               " and " SVC0_PEER_NAME,
               "it is none of ours, and stands where service NAT would make its own");
    return -EEXIST;
}

static int failed(int error, const struct nl_result *result, struct faults *faults)
{
    faults_add(faults, "interface " SVC0_NAME,
               error == -EPERM ? "agentd needs CAP_NET_ADMIN in this network namespace" : NULL,
               "it can't be made: %s%s%s", strerror(-error), *result->text ? ": " : "",
               result->text);
    return error;
}

/* A pair of ours whose ends do not belong together any more goes; it is made anew then. */
static int make_ends(struct nl_socket *socket, uint32_t mtu, struct end ends[static 2],
                     struct faults *faults)
{
    struct nl_result result = { 0 };
    int r = find_both(socket, ends);
    for (size_t i = 0; r == 0 && i < 2; i++) {
        if (ends[i].link.ifindex && !is_ours(&ends[i], macs[i]))
            return foreign(names[i], faults);
    }
    bool paired =
        ends[0].link.ifindex && ends[1].link.ifindex && ends[0].peer == ends[1].link.ifindex;
    if (r == 0 && paired)
        return 0;
    for (size_t i = 0; r == 0 && i < 2; i++) {
        if (ends[i].link.ifindex)
            r = remove_pair(socket, ends[i].link.ifindex, &result);
    }
    if (r == 0)
        r = make_pair(socket, mtu, &result);
    if (r == 0)
        r = find_both(socket, ends);
    return r < 0 ? failed(r, &result, faults) : 1;
}

int svc0_ensure(uint32_t mtu, struct svc0 *ret_svc0, struct faults *faults)
{
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    struct nl_result result = { 0 };
    struct end ends[2] = { 0 };
    int r = nl_open(&socket);
    if (r < 0)
        return failed(r, &result, faults);
    mtu = MIN(MAX(mtu, (uint32_t)MTU_MIN), (uint32_t)MTU_MAX);
    int changed = make_ends(socket, mtu, ends, faults);
    if (changed < 0)
        return changed;
    /* The peer first: svc0 has its carrier when it comes up. */
    for (int i = 1; i >= 0; i--) {
        if (is_finished(&ends[i], macs[i], mtu))
            continue;
        r = finish_end(socket, &ends[i], macs[i], mtu, &result);
        if (r < 0)
            return failed(r, &result, faults);
        changed = 1;
    }
    *ret_svc0 = (struct svc0){ .ifindex = ends[0].link.ifindex };
    memcpy(ret_svc0->mac, macs[0], sizeof(ret_svc0->mac));
    return changed;
}

int svc0_remove(void)
{
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    struct nl_result result;
    struct end ends[2];
    int removed = 0, r = nl_open(&socket);
    if (r == 0)
        r = find_both(socket, ends);
    for (size_t i = 0; r == 0 && i < 2; i++) {
        if (ends[i].link.ifindex == 0 || !is_ours(&ends[i], macs[i]))
            continue;
        r = remove_pair(socket, ends[i].link.ifindex, &result);
        if (r == -ENODEV)
            r = 0; /* it went with its peer */
        removed = 1;
    }
    return r < 0 ? r : removed;
}
