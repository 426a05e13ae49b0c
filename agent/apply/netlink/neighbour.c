// SPDX-License-Identifier: Apache-2.0
/*
 * Neighbours by rtnetlink; see neighbour.h.
 *
 * Proxies are in a separate table: the flag NTF_PROXY in the fixed part of a request selects the
 * table, for dumps too. The kernel filters both dumps by interface, as strict checking requires;
 * rows are filtered again here.
 */
#include "apply/netlink/neighbour.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"

bool nl_neighbour_decode(const struct nlmsghdr *message, struct nl_neighbour *ret_neighbour)
{
    const struct ndmsg *fixed = mnl_nlmsg_get_payload(message);
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*fixed) ||
        (fixed->ndm_family != AF_INET && fixed->ndm_family != AF_INET6))
        return false;

    struct nl_neighbour neighbour = {
        .ifindex = (uint32_t)fixed->ndm_ifindex,
        .ip = { .family = fixed->ndm_family == AF_INET ? IP_V4 : IP_V6 },
        .proxy = (fixed->ndm_flags & NTF_PROXY) != 0,
        .state = fixed->ndm_state,
    };
    const struct nl_wanted wanted[] = {
        { NDA_DST, (uint16_t)ip_size(&neighbour.ip) },
        { NDA_LLADDR, sizeof(neighbour.mac) },
    };
    const struct nlattr *attributes[NDA_LLADDR + 1];
    nl_parse(message, sizeof(*fixed), wanted, ARRAY_SIZE(wanted), attributes, NDA_LLADDR);
    if (!attributes[NDA_DST])
        return false;
    memcpy(neighbour.ip.bytes, mnl_attr_get_payload(attributes[NDA_DST]), ip_size(&neighbour.ip));
    if (attributes[NDA_LLADDR])
        memcpy(neighbour.mac, mnl_attr_get_payload(attributes[NDA_LLADDR]), sizeof(neighbour.mac));
    *ret_neighbour = neighbour;
    return true;
}

/* The fixed part of a request about one neighbour, with its `state` and `flags`. */
static void begin_with(struct nl_request *request, uint16_t type, uint16_t flags,
                       const struct nl_neighbour *neighbour, uint8_t neighbour_flags)
{
    const struct ndmsg fixed = {
        .ndm_family = neighbour->ip.family == IP_V4 ? AF_INET : AF_INET6,
        .ndm_ifindex = (int)neighbour->ifindex,
        .ndm_state = neighbour->state,
        .ndm_flags = neighbour_flags,
    };
    nl_begin(request, type, flags, &fixed, sizeof(fixed));
    nl_put_ip(request, NDA_DST, &neighbour->ip);
}

/* A permanent or a proxy entry. */
static void begin(struct nl_request *request, uint16_t type, uint16_t flags,
                  const struct nl_neighbour *neighbour)
{
    struct nl_neighbour lasting = *neighbour;
    lasting.state = NUD_PERMANENT;
    begin_with(request, type, flags, &lasting, neighbour->proxy ? NTF_PROXY : 0);
}

int nl_neighbour_set(struct nl_socket *socket, const struct nl_neighbour *neighbour,
                     struct nl_result *result)
{
    struct nl_request request;
    begin(&request, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, neighbour);
    if (!neighbour->proxy)
        nl_put_bytes(&request, NDA_LLADDR, neighbour->mac, sizeof(neighbour->mac));
    return nl_run(socket, &request, result);
}

int nl_neighbour_delete(struct nl_socket *socket, const struct nl_neighbour *neighbour,
                        struct nl_result *result)
{
    struct nl_request request;
    begin(&request, RTM_DELNEIGH, 0, neighbour);
    return nl_run(socket, &request, result);
}

bool nl_neighbour_is_set(const struct nl_neighbour *neighbour)
{
    static const uint8_t unknown[6] = { 0 };
    return neighbour->state & (NUD_PERMANENT | NUD_NOARP) && !(neighbour->mac[0] & 1) &&
           memcmp(neighbour->mac, unknown, sizeof(unknown)) != 0;
}

static int on_one(const struct nlmsghdr *row, void *context)
{
    struct nl_neighbour neighbour;
    if (nl_neighbour_decode(row, &neighbour))
        *(struct nl_neighbour *)context = neighbour;
    return 0;
}

int nl_neighbour_get(struct nl_socket *socket, uint32_t ifindex, const struct ip *ip,
                     struct nl_neighbour *ret_neighbour)
{
    struct nl_neighbour found = { .ifindex = ifindex, .ip = *ip, .state = NUD_NONE };
    struct nl_request request;
    begin_with(&request, RTM_GETNEIGH, 0, &found, 0);
    int r = nl_get(socket, &request, on_one, &found);
    if (r < 0)
        return r;
    *ret_neighbour = found;
    return 0;
}

/* Makes the kernel probe a neighbour. */
static int probe(struct nl_socket *socket, const struct nl_neighbour *wanted)
{
    struct nl_request request;
    begin_with(&request, RTM_NEWNEIGH, NLM_F_CREATE, wanted, NTF_USE);
    return nl_run(socket, &request, NULL);
}

int nl_neighbour_check(struct nl_socket *socket, uint32_t ifindex, const struct ip *ip,
                       bool *ret_answers)
{
    static const uint16_t there =
        NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP;
    const struct nl_neighbour wanted = { .ifindex = ifindex, .ip = *ip };
    struct nl_neighbour found = wanted;
    int r = nl_neighbour_get(socket, ifindex, ip, &found);
    const uint16_t state = found.state;
    if (r == -ENOENT)
        r = 0;
    if (r < 0)
        return r;
    if (!(state & there) || (state & NUD_STALE))
        r = probe(socket, &wanted);
    if (r < 0)
        return r;
    *ret_answers = state & there;
    return 0;
}

struct reading {
    nl_neighbour_list neighbours;
    size_t start; /* start of the rows of the current request */
    uint32_t ifindex;
};

static void reading_done(struct reading *reading)
{
    vec_done(&reading->neighbours);
}

static int on_neighbour(const struct nlmsghdr *row, void *context)
{
    struct reading *reading = context;
    struct nl_neighbour neighbour;
    if (!nl_neighbour_decode(row, &neighbour) || neighbour.ifindex != reading->ifindex)
        return 0;
    return vec_push(&reading->neighbours, neighbour);
}

static void restart(void *context)
{
    struct reading *reading = context;
    reading->neighbours.count = reading->start;
}

int nl_neighbour_dump(struct nl_socket *socket, uint32_t ifindex, bool proxy,
                      nl_neighbour_list *ret_neighbours)
{
    static const uint8_t families[] = { AF_INET, AF_INET6 };
    CLEANUP(reading_done) struct reading reading = { .ifindex = ifindex };
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        const struct ndmsg fixed = {
            .ndm_family = families[i],
            .ndm_flags = proxy ? NTF_PROXY : 0,
        };
        struct nl_request request;
        reading.start = reading.neighbours.count;
        nl_begin(&request, RTM_GETNEIGH, 0, &fixed, sizeof(fixed));
        nl_put_u32(&request, NDA_IFINDEX, ifindex);
        int r = nl_dump(socket, &request, on_neighbour, restart, &reading);
        if (r < 0)
            return r;
    }
    *ret_neighbours = TAKE_STRUCT(reading.neighbours);
    return 0;
}
