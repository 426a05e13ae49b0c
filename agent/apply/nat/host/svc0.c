// SPDX-License-Identifier: Apache-2.0
/*
 * svc0, created and maintained by rtnetlink; see svc0.h.
 *
 * Its settings, and the reasons:
 * - no ARP: packets routed there need no neighbour, in both families;
 * - no address, not even a link-local one of IPv6 (address generation off, per interface), so that
 *   no program listens there, and no duplicate address detection delays the first packet;
 * - always the same MAC addresses, which we choose: replies to the node's own packets are
 *   received with svc0's, which the program must know.
 *
 * The kernel accepts alias and address generation only for an interface that exists. A crash in
 * between leaves a pair without alias, which is identified by its MAC address. The pair is set up
 * last: the kernel would generate a link-local address at that moment.
 */
#include "apply/nat/host/svc0.h"

#include <errno.h>
#include <string.h>

#include "apply/netlink/link.h"
#include "base/macro.h"
#include "base/ours.h"
#include "base/remedy.h"
#include "faults/nat.h"
#include "faults/raise.h"

/* Locally administered; then "fpsv". */
static const uint8_t macs[2][6] = { { 0x02, 0x66, 0x70, 0x73, 0x76, 0x00 },
                                    { 0x02, 0x66, 0x70, 0x73, 0x76, 0x01 } };
static const char *const names[2] = { SVC0_NAME, SVC0_PEER_NAME };

/* IPv6 checks this setting on every interface that it may use. */
enum { MTU_MIN = 1280, MTU_MAX = 65535 };

/* `*ret_end` is zeros if there is none. */
static int find_end(struct nl_socket *socket, const char *name, struct nl_link *ret_end)
{
    int r = nl_link_find(socket, name, ret_end);
    if (r == -ENODEV)
        *ret_end = (struct nl_link){ 0 };
    return r == -ENODEV ? 0 : r;
}

/* An unfinished one has no alias yet. */
static bool is_ours(const struct nl_link *end, const uint8_t mac[6])
{
    if (strcmp(end->kind, "veth") != 0)
        return false;
    if (end->alias[0])
        return ours_is_alias(end->alias);
    return memcmp(end->mac, mac, 6) == 0;
}

static int make_pair(struct nl_socket *socket, uint32_t mtu, struct nl_result *result)
{
    const struct nl_veth end = { names[0], macs[0], mtu }, peer = { names[1], macs[1], mtu };
    return nl_link_add_veth(socket, &end, &peer, NL_HERE, result);
}

static bool is_finished(const struct nl_link *end, const uint8_t mac[6], uint32_t mtu)
{
    return end->up && !end->arp && !end->v6_generates && end->mtu == mtu &&
           memcmp(end->mac, mac, 6) == 0 && ours_is_alias(end->alias);
}

static int finish_end(struct nl_socket *socket, const struct nl_link *end, const uint8_t mac[6],
                      uint32_t mtu, struct nl_result *result)
{
    const struct nl_link_change change = {
        .alias = OURS_NAME,
        .mac = mac,
        .mtu = mtu,
        .no_arp = true,
        .no_v6_addresses = end->v6_generates,
    };
    const struct nl_link_change up = { .state = NL_LINK_UP };
    int r = nl_link_change(socket, end->ifindex, &change, result);
    return r < 0 ? r : nl_link_change(socket, end->ifindex, &up, result);
}

static int find_both(struct nl_socket *socket, struct nl_link ends[static 2])
{
    int r = find_end(socket, names[0], &ends[0]);
    return r < 0 ? r : find_end(socket, names[1], &ends[1]);
}

static int foreign(const char *name, struct faults *faults)
{
    char place[32] = "interface ";
    fault_raise(faults, strcat(place, name), nat_svc0_foreign);
    return -EEXIST;
}

static int failed(int error, const struct nl_result *result, struct faults *faults)
{
    fault_raise(faults, "interface " SVC0_NAME, nat_svc0_refused, .reason = strerror(-error),
                .detail = result->text,
                .remedy = error == -EPERM ? "agentd needs CAP_NET_ADMIN in this network namespace"
                                          : remedy_for_kernel(error));
    return error;
}

/* Removes what exists of the pair, and creates it. */
static int make_anew(struct nl_socket *socket, uint32_t mtu, struct nl_link ends[static 2],
                     struct nl_result *result)
{
    for (size_t i = 0; i < 2; i++) {
        if (ends[i].ifindex == 0)
            continue;
        int r = nl_link_delete(socket, ends[i].ifindex, result);
        if (r < 0)
            return r;
    }
    int r = make_pair(socket, mtu, result);
    return r < 0 ? r : find_both(socket, ends);
}

/* Removes a pair of ours whose ends do not belong together any more; it is then created again. */
static int make_ends(struct nl_socket *socket, uint32_t mtu, struct nl_link ends[static 2],
                     struct faults *faults)
{
    struct nl_result result = { 0 };
    int r = find_both(socket, ends);
    if (r < 0)
        return failed(r, &result, faults);
    for (size_t i = 0; i < 2; i++) {
        if (ends[i].ifindex && !is_ours(&ends[i], macs[i]))
            return foreign(names[i], faults);
    }
    if (ends[0].ifindex && ends[1].ifindex && ends[0].peer == ends[1].ifindex)
        return 0;
    r = make_anew(socket, mtu, ends, &result);
    return r < 0 ? failed(r, &result, faults) : 1;
}

int svc0_ensure(uint32_t mtu, struct svc0 *ret_svc0, struct faults *faults)
{
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    struct nl_result result = { 0 };
    struct nl_link ends[2] = { 0 };
    int r = nl_open(&socket);
    if (r < 0)
        return failed(r, &result, faults);
    mtu = MIN(MAX(mtu, (uint32_t)MTU_MIN), (uint32_t)MTU_MAX);
    int changed = make_ends(socket, mtu, ends, faults);
    if (changed < 0)
        return changed;
    /* The peer first: then svc0 has its carrier when it is set up. */
    for (int i = 1; i >= 0; i--) {
        if (is_finished(&ends[i], macs[i], mtu))
            continue;
        r = finish_end(socket, &ends[i], macs[i], mtu, &result);
        if (r < 0)
            return failed(r, &result, faults);
        changed = 1;
    }
    *ret_svc0 = (struct svc0){ .ifindex = ends[0].ifindex };
    memcpy(ret_svc0->mac, macs[0], sizeof(ret_svc0->mac));
    return changed;
}

int svc0_remove(void)
{
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    struct nl_link ends[2];
    int removed = 0, r = nl_open(&socket);
    if (r < 0)
        return r;
    r = find_both(socket, ends);
    if (r < 0)
        return r;
    for (size_t i = 0; i < 2; i++) {
        if (ends[i].ifindex == 0 || !is_ours(&ends[i], macs[i]))
            continue;
        r = nl_link_delete(socket, ends[i].ifindex, NULL);
        if (r < 0 && r != -ENODEV) /* it was deleted with its peer */
            return r;
        removed = 1;
    }
    return removed;
}
