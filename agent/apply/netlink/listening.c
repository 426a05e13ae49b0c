// SPDX-License-Identifier: Apache-2.0
/*
 * Dumps listening sockets by sock_diag(7); see listening.h. Called by engine/nat/host/nat_ports.c.
 *
 * Of TCP the kernel then dumps only listening sockets, however many connections there are. UDP has
 * one table: the kernel skips sockets with a peer. There is no notification of a new listening
 * socket, so the caller polls.
 */
#include "apply/netlink/listening.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>

#include "base/macro.h"

int listening_open(struct nl_socket **ret_socket)
{
    return nl_open_in(NL_HERE, NETLINK_SOCK_DIAG, ret_socket);
}

/* The kernel's numbers of states; UDP sockets without a peer are in STATE_CLOSE. */
enum { STATE_CLOSE = 7, STATE_LISTEN = 10 };

struct reading {
    listening_list *list;
    enum protocol protocol;
    size_t first; /* of this protocol and family */
};

static int on_socket(const struct nlmsghdr *row, void *context)
{
    const struct reading *reading = context;
    struct inet_diag_msg message;
    if (mnl_nlmsg_get_payload_len(row) < sizeof(message) ||
        reading->list->count - reading->first >= LISTENING_MAX)
        return 0;
    memcpy(&message, mnl_nlmsg_get_payload(row), sizeof(message));
    struct listening found = {
        .protocol = reading->protocol,
        .family = message.idiag_family == AF_INET ? IP_V4 : IP_V6,
        .port = ntohs(message.id.idiag_sport),
        .uid = message.idiag_uid,
    };
    static const uint8_t any[16];
    const size_t size = found.family == IP_V4 ? 4 : 16;
    if (memcmp(message.id.idiag_src, any, size) != 0) {
        found.ip.family = found.family;
        memcpy(found.ip.bytes, message.id.idiag_src, size);
    }
    return vec_push(reading->list, found);
}

static void forget_part(void *context)
{
    const struct reading *reading = context;
    reading->list->count = reading->first;
}

static int read_part(struct nl_socket *socket, enum protocol protocol, uint8_t family,
                     listening_list *list)
{
    struct nl_request request;
    struct reading reading = { list, protocol, list->count };
    const struct inet_diag_req_v2 fixed = {
        .sdiag_family = family,
        .sdiag_protocol = protocol == PROTOCOL_TCP ? IPPROTO_TCP : IPPROTO_UDP,
        .idiag_states = 1u << (protocol == PROTOCOL_TCP ? STATE_LISTEN : STATE_CLOSE),
    };
    nl_begin(&request, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &fixed, sizeof(fixed));
    int r = nl_dump(socket, &request, on_socket, forget_part, &reading);
    return r == -ENOENT || r == -EOPNOTSUPP ? 0 : r;
}

int listening_dump(struct nl_socket *socket, listening_list *ret_list)
{
    static const enum protocol protocols[] = { PROTOCOL_TCP, PROTOCOL_UDP };
    static const uint8_t families[] = { AF_INET, AF_INET6 };
    AUTOVEC listening_list list = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(protocols) * ARRAY_SIZE(families); i++) {
        int r = read_part(socket, protocols[i / ARRAY_SIZE(families)],
                          families[i % ARRAY_SIZE(families)], &list);
        if (r < 0)
            return r;
    }
    vec_move(ret_list, &list);
    return 0;
}
