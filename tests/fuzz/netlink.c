// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's side of netlink, played by the input: dumps, notifications and acknowledgements of
 * any content reach the mirror (apply/mirror/kernel.h) through the real framing, decoding and
 * replay, and the typed requests of apply/netlink/.
 *
 * The input is a row of datagrams, each behind its length (2 bytes, little endian); a length of 0
 * ends an answer in order. Small sequence numbers count from the request that is waited for, so
 * that answers can be found by chance. When the input is used up, the kernel answers as it should:
 * dumps end, requests succeed, and nothing is notified.
 *
 * recvmsg() and sendmsg() are wrapped at link time; no request leaves the process.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "apply/mirror/decode.h"
#include "apply/mirror/kernel.h"
#include "apply/mirror/replay.h"
#include "apply/netlink/address.h"
#include "apply/netlink/genl.h"
#include "apply/netlink/link.h"
#include "apply/netlink/neighbour.h"
#include "apply/netlink/nl.h"
#include "base/macro.h"
#include "fuzz.h"

enum { EXPORT_TABLE = 119, SEQUENCES_NEAR = 256 };

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);

static struct {
    const uint8_t *bytes;
    size_t left;
    uint32_t first;   /* sequence number of the oldest request without an answer */
    uint32_t answers; /* that are due; 0: nobody waits */
    bool dump;
} played;

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    (void)fd;
    (void)flags;
    ssize_t total = 0;
    const struct nlmsghdr *first = message->msg_iov[0].iov_base;
    for (size_t i = 0; i < message->msg_iovlen; i++)
        total += (ssize_t)message->msg_iov[i].iov_len;
    played.first = first->nlmsg_seq;
    played.answers = (uint32_t)message->msg_iovlen;
    played.dump = (first->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    return total;
}

/* What the kernel says at last: the end of a dump, or success for a request. */
static size_t proper_answer(char *buffer)
{
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
    } answer = { .header = { .nlmsg_seq = played.first } };
    answer.header.nlmsg_type = played.dump ? NLMSG_DONE : NLMSG_ERROR;
    answer.header.nlmsg_len = sizeof(answer);
    played.first++;
    played.answers--;
    memcpy(buffer, &answer, sizeof(answer));
    return sizeof(answer);
}

static void number_answers(char *datagram, size_t size)
{
    int left = (int)size;
    for (struct nlmsghdr *it = (void *)datagram; nl_message_ok(it, left);
         it = mnl_nlmsg_next(it, &left)) {
        if (it->nlmsg_seq < SEQUENCES_NEAR)
            it->nlmsg_seq += played.first;
    }
}

/* The length of the next datagram; 0 if this answer ends here. */
static size_t next_length(size_t room)
{
    if (played.left < 2)
        return 0;
    size_t length = (size_t)(played.bytes[0] | played.bytes[1] << 8);
    played.bytes += 2;
    played.left -= 2;
    length = MIN(length, played.left);
    return MIN(length, room);
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    (void)fd;
    (void)flags;
    struct sockaddr_nl *from = message->msg_name;
    *from = (struct sockaddr_nl){ .nl_family = AF_NETLINK };
    message->msg_flags = 0;

    char *buffer = message->msg_iov[0].iov_base;
    size_t size = next_length(message->msg_iov[0].iov_len);
    if (size > 0) {
        memcpy(buffer, played.bytes, size);
        played.bytes += size;
        played.left -= size;
        number_answers(buffer, size);
        return (ssize_t)size;
    }
    if (played.answers > 0)
        return (ssize_t)proper_answer(buffer);
    errno = EAGAIN;
    return -1;
}

static void check_sorted(const struct sorted *table)
{
    for (size_t i = 1; i < table->count; i++)
        MUST(table->compare(sorted_at(table, i - 1), sorted_at(table, i)) < 0);
}

static void check_mirror(const struct kernel *kernel)
{
    const struct kernel_scope scope = scope_of_node(EXPORT_TABLE);
    const struct sorted *routes = kernel_routes(kernel), *rules = kernel_rules(kernel);
    char buffer[ROUTE_STRLEN];
    check_sorted(routes);
    check_sorted(rules);
    check_sorted(kernel_local_prefixes(kernel));
    for (size_t i = 0; i < routes->count; i++) {
        const struct route *route = sorted_at(routes, i);
        MUST(scope_has_route(&scope, route));
        MUST(route->prefix.length <= ip_bits(&route->prefix.ip));
        MUST(strlen(route_str(route, buffer)) < ROUTE_STRLEN - 1);
    }
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = sorted_at(rules, i);
        MUST(!rule_is_standard(rule) && strnlen(rule->iif, 16) < 16);
        MUST(strlen(rule_str(rule, buffer)) < ROUTE_STRLEN - 1);
    }
}

static void write_something(struct kernel *kernel)
{
    static const struct route_op ops[] = {
        { OP_ADD,
          { .table = 119,
            .prefix = { { .family = IP_V4, .bytes = { 10, 0, 0, 1 } }, 32 },
            .protocol = 31,
            .type = RTN_BLACKHOLE } },
        { OP_DELETE,
          { .table = 120,
            .prefix = { { .family = IP_V6, .bytes = { 0xfd } }, 128 },
            .protocol = 33,
            .type = RTN_UNREACHABLE } },
    };
    struct op_result results[ARRAY_SIZE(ops)];
    if (kernel_apply_routes(kernel, ops, ARRAY_SIZE(ops), results) < 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
        MUST(strnlen(results[i].text, sizeof(results[i].text)) < sizeof(results[i].text));
}

static void play_to_a_mirror(const uint8_t *bytes, size_t size)
{
    played.bytes = bytes;
    played.left = size;
    played.answers = 0;
    CLEANUP(kernel_closep) struct kernel *kernel = NULL;
    const struct kernel_scope scope = scope_of_node(EXPORT_TABLE);
    if (kernel_open(&scope, NL_HERE, &kernel) < 0)
        return;
    check_mirror(kernel);
    while (played.left >= 2) {
        (void)kernel_read(kernel);
        check_mirror(kernel);
        write_something(kernel);
        kernel_events_done(kernel);
    }
    played.answers = 0;
    if (kernel_resync(kernel) == 0)
        MUST(kernel_routes(kernel)->count == 0 && kernel_rules(kernel)->count == 0);
}

#define MUST_END(array) MUST(strnlen(array, sizeof(array)) < sizeof(array))

static void ask_of_links(struct nl_socket *socket)
{
    struct nl_link link = { 0 };
    if (nl_link_find(socket, "svc0", &link) < 0)
        return;
    MUST(link.ifindex > 0);
    MUST_END(link.name);
    MUST_END(link.kind);
    MUST_END(link.alias);
}

static void ask_of_addresses(struct nl_socket *socket)
{
    AUTOVEC nl_address_list addresses = { 0 };
    (void)nl_address_dump(socket, 0, &addresses);
    vec_each(const struct nl_address, it, &addresses) {
        MUST(it->length <= ip_bits(&it->ip) && it->peer.family == it->ip.family);
    }
}

static void ask_of_neighbours(struct nl_socket *socket)
{
    AUTOVEC nl_neighbour_list neighbours = { 0 };
    (void)nl_neighbour_dump(socket, 1, false, &neighbours);
    vec_each(const struct nl_neighbour, it, &neighbours) {
        MUST(it->ifindex == 1 && it->ip.family != IP_NONE);
    }
}

static void ask_of_families(struct nl_socket *socket)
{
    struct genl_family family;
    uint32_t group = 0;
    if (genl_find(socket, "nlctrl", &family) == 0)
        MUST(family.id > 0);
    if (genl_group(socket, "nlctrl", "notify", &group) == 0)
        MUST(group > 0);
}

/* Each typed question gets the input for an answer, from its beginning. */
static void play_to_questions(const uint8_t *bytes, size_t size)
{
    static void (*const questions[])(struct nl_socket *) = {
        ask_of_links,
        ask_of_addresses,
        ask_of_neighbours,
        ask_of_families,
    };
    for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
        CLEANUP(nl_closep) struct nl_socket *socket = NULL;
        if (nl_open(&socket) < 0)
            return;
        played.bytes = bytes;
        played.left = size;
        played.answers = 0;
        questions[i](socket);
    }
}

/* Every message of the input that is about a route, as an event. */
static route_event_list route_events(char *bytes, size_t size)
{
    route_event_list events = { 0 };
    int left = (int)size;
    uint32_t order = 0;
    for (struct nlmsghdr *it = (void *)bytes; nl_message_ok(it, left);
         it = mnl_nlmsg_next(it, &left)) {
        struct route_event event = {
            .order = ++order,
            .remove = it->nlmsg_type & 1,
            .replace = !(it->nlmsg_type & 1) && (it->nlmsg_flags & NLM_F_REPLACE),
        };
        if (decode_route(it, &event.route))
            MUST(vec_push(&events, event) == 0);
    }
    return events;
}

/* A slot's last event says how it ends: playing everything twice does no harm. */
static void play_twice(char *bytes, size_t size)
{
    struct sorted once = SORTED(struct route, route_cmp), twice = SORTED(struct route, route_cmp);
    const struct kernel_scope scope = scope_of_node(EXPORT_TABLE);
    bool doubtful[3] = { 0 };
    for (int i = 0; i < 3; i++) {
        route_event_list events = route_events(bytes, size);
        size_t count = events.count;
        MUST(replay_routes(i == 0 ? &once : &twice, &events, &scope, &doubtful[i]) == 0);
        MUST(events.count >= count);
        vec_done(&events);
    }
    check_sorted(&once);
    if (!doubtful[0] && !doubtful[1] && !doubtful[2]) {
        MUST(once.count == twice.count);
        for (size_t i = 0; i < once.count; i++)
            MUST(route_cmp(sorted_at(&once, i), sorted_at(&twice, i)) == 0);
    }
    sorted_done(&once);
    sorted_done(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    play_to_a_mirror(bytes, size);
    play_to_questions(bytes, size);
    if (size <= 2)
        return 0;
    char *copy = malloc(size - 2); /* aligned, and without a byte behind its end */
    MUST(copy);
    memcpy(copy, bytes + 2, size - 2);
    play_twice(copy, size - 2);
    free(copy);
    return 0;
}
