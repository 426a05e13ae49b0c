// SPDX-License-Identifier: Apache-2.0
/*
 * The maps "control" and "interfaces": settings that apply to all Services.
 *
 * The programs read "control" while it is written. So only words that differ are written, and the
 * count of a list never includes a network that is not written yet: it is increased after the
 * networks are written, and decreased before.
 *
 * The programs send ICMP errors under the kernel's limits (Linux, net/ipv4/icmp.c and
 * net/ipv6/icmp.c): one error in "ratelimit" milliseconds to each destination, for the types in
 * "ratemask". In IPv4 that is a number, in which bit 3 is "destination unreachable"; in IPv6 a list
 * of types, of which this is type 1. /proc/sys/net shows the network namespace of its reader.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/table.h"
#include "base/files/file.h"
#include "base/macro.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum { V4_UNREACHABLE = 3, V6_UNREACHABLE = 1, LIMIT_MS = 1000 };

static struct nat_net net_of(const struct prefix *prefix)
{
    struct nat_net net = { .net = nat_addr_of(&prefix->ip) };
    uint32_t length = prefix->length + (prefix->ip.family == IP_V4 ? 96u : 0u);
    for (uint32_t i = 0; i < length; i++)
        net.mask.bytes[i / 8] |= (uint8_t)(0x80 >> i % 8);
    return net;
}

static void write_net(struct nat_net *to, const struct nat_net *from)
{
    for (int i = 0; i < 2; i++) {
        if (to->net.halves[i] != from->net.halves[i])
            __atomic_store_n(&to->net.halves[i], from->net.halves[i], __ATOMIC_RELEASE);
        if (to->mask.halves[i] != from->mask.halves[i])
            __atomic_store_n(&to->mask.halves[i], from->mask.halves[i], __ATOMIC_RELEASE);
    }
}

static void write_nets(struct nat_net *to, uint32_t *count, uint32_t room,
                       const struct prefix *from, size_t from_count, const char *what,
                       struct faults *faults)
{
    if (from_count > room) {
        fault_raise(faults, "service NAT", nat_networks_beyond_room, .count = (int64_t)from_count,
                    .what = what, .room = room);
        from_count = room;
    }
    if (*count > from_count)
        __atomic_store_n(count, (uint32_t)from_count, __ATOMIC_RELEASE);
    for (size_t i = 0; i < from_count; i++) {
        struct nat_net net = net_of(&from[i]);
        write_net(&to[i], &net);
    }
    __atomic_store_n(count, (uint32_t)from_count, __ATOMIC_RELEASE);
}

/* Peers that don't fit get no errors. Reading a peer while it changes costs one error. */
static void write_peers(struct nat_datapath *datapath, const struct nat_settings *settings)
{
    uint32_t counts[2] = { 0 };
    for (size_t i = 0; i < settings->peer_count; i++) {
        const struct ip *peer = &settings->peers[i];
        const bool six = peer->family == IP_V6;
        if (counts[six] < NAT_MAX_PEERS)
            datapath->peers[(six ? NAT_MAX_PEERS : 0) + counts[six]++] = nat_addr_of(peer);
    }
    for (int six = 0; six < 2; six++)
        __atomic_store_n(&datapath->control->peer_counts[six], counts[six], __ATOMIC_RELEASE);
}

int nat_datapath_set(struct nat_datapath *datapath, const struct nat_settings *settings,
                     struct faults *faults)
{
    struct nat_control *control = datapath->control;
    if (settings->snat_last < settings->snat_first)
        return -EINVAL;
    write_nets(control->pod_nets, &control->pod_net_count, NAT_MAX_POD_NETS, settings->pod_nets,
               settings->pod_net_count, "pods", faults);
    write_nets(control->service_nets, &control->service_net_count, NAT_MAX_SERVICE_NETS,
               settings->service_nets, settings->service_net_count, "services", faults);
    write_peers(datapath, settings);

    uint32_t count = settings->snat_last - settings->snat_first + 1u;
    __atomic_store_n(&control->snat_count, MIN(count, control->snat_count), __ATOMIC_RELEASE);
    __atomic_store_n(&control->snat_first, settings->snat_first, __ATOMIC_RELEASE);
    __atomic_store_n(&control->snat_count, count, __ATOMIC_RELEASE);
    for (enum nat_state state = 0; state < NAT_STATES; state++) {
        __atomic_store_n(&control->timeouts_s[state], settings->timeouts_s[state],
                         __ATOMIC_RELEASE);
        __atomic_store_n(&control->egress_timeouts_s[state], settings->egress_timeouts_s[state],
                         __ATOMIC_RELEASE);
    }
    __atomic_store_n(&control->egress_icmp_s, settings->egress_icmp_s, __ATOMIC_RELEASE);
    __atomic_store_n(&control->ring_slots, datapath->maps[NAT_MAP_RING].entries, __ATOMIC_RELEASE);
    return 0;
}

void nat_datapath_set_path(struct nat_datapath *datapath, bool stack, bool xfrm, bool judged)
{
    uint32_t path = datapath->control->path & (NAT_PATH_STACKED | NAT_PATH_MARK_NODE_PORTS);
    if (stack)
        path |= NAT_PATH_STACK | NAT_PATH_STACKED;
    if (xfrm)
        path |= NAT_PATH_XFRM | (judged ? 0 : NAT_PATH_WHOLE);
    __atomic_store_n(&datapath->control->path, path, __ATOMIC_RELEASE);
}

void nat_datapath_set_mark(struct nat_datapath *datapath, uint32_t mark, bool node_ports)
{
    uint32_t path = datapath->control->path & ~NAT_PATH_MARK_NODE_PORTS;
    if (node_ports)
        path |= NAT_PATH_MARK_NODE_PORTS;
    __atomic_store_n(&datapath->control->path, path, __ATOMIC_RELEASE);
    __atomic_store_n(&datapath->control->mark, mark, __ATOMIC_RELEASE);
}

int nat_datapath_set_svc0(struct nat_datapath *datapath, uint32_t ifindex, const uint8_t mac[6])
{
    static const uint8_t none[6];
    struct nat_control *control = datapath->control;
    const uint8_t *wanted = ifindex ? mac : none;
    if (memcmp(control->svc0_mac, wanted, sizeof(control->svc0_mac)) != 0) {
        __atomic_store_n(&control->svc0_ifindex, 0, __ATOMIC_RELEASE);
        memcpy(control->svc0_mac, wanted, sizeof(control->svc0_mac));
    }
    __atomic_store_n(&control->svc0_ifindex, ifindex, __ATOMIC_RELEASE);
    return 0;
}

/* Reads a file of one line; NULL: there is no such file. Returns 0 or -errno. */
static int read_line(const char *path, char **ret_line)
{
    size_t size;
    int r = file_read(path, 4096, ret_line, &size);
    if (r == -ENOENT)
        *ret_line = NULL;
    return r == -ENOENT ? 0 : r;
}

/* True if a list such as "0-1,3-127" has the type. */
static bool list_has(const char *list, unsigned long type)
{
    while (*list >= '0' && *list <= '9') {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (first <= type && type <= last)
            return true;
        list = *end == ',' ? end + 1 : end;
    }
    return false;
}

static bool mask_has(const char *mask, unsigned type)
{
    return strtoul(mask, NULL, 10) >> type & 1;
}

static int read_limit(const char *limit_path, const char *mask_path, bool four, uint32_t *to)
{
    AUTOFREE char *limit = NULL, *mask = NULL;
    int r = read_line(limit_path, &limit);
    if (r < 0)
        return r;
    r = read_line(mask_path, &mask);
    if (r < 0)
        return r;
    uint32_t wanted = limit ? (uint32_t)MIN(strtoul(limit, NULL, 10), UINT32_MAX) : LIMIT_MS;
    if (mask && !(four ? mask_has(mask, V4_UNREACHABLE) : list_has(mask, V6_UNREACHABLE)))
        wanted = 0;
    __atomic_store_n(to, wanted, __ATOMIC_RELEASE);
    return 0;
}

int nat_datapath_read_limits(struct nat_datapath *datapath)
{
    uint32_t *limits = datapath->control->icmp_interval_ms;
    int r = read_limit("/proc/sys/net/ipv4/icmp_ratelimit", "/proc/sys/net/ipv4/icmp_ratemask",
                       true, &limits[0]);
    int second = read_limit("/proc/sys/net/ipv6/icmp/ratelimit", "/proc/sys/net/ipv6/icmp/ratemask",
                            false, &limits[1]);
    return r < 0 ? r : second;
}

int nat_datapath_set_interface(struct nat_datapath *datapath, uint32_t ifindex, const struct ip *v4,
                               const struct ip *v6, uint32_t back)
{
    struct nat_interface_value value = { nat_addr_of(v4), nat_addr_of(v6), ifindex, back }, is;
    if (nat_table_get(datapath, NAT_MAP_INTERFACES, &ifindex, &is) == 0 &&
        memcmp(&is, &value, sizeof(is)) == 0)
        return 0;
    return nat_table_put(datapath, NAT_MAP_INTERFACES, &ifindex, &value, BPF_ANY);
}

void nat_datapath_set_by_route(struct nat_datapath *datapath, const uint32_t *tunnels, size_t count)
{
    uint32_t *to = datapath->control->by_route;
    for (size_t i = 0; i < NAT_MAX_BY_ROUTE; i++)
        __atomic_store_n(&to[i], i < count ? tunnels[i] : 0, __ATOMIC_RELEASE);
}

int nat_datapath_remove_interface(struct nat_datapath *datapath, uint32_t ifindex)
{
    return nat_table_remove(datapath, NAT_MAP_INTERFACES, &ifindex);
}
