// SPDX-License-Identifier: Apache-2.0
/*
 * The netlink socket: requests in batches, dumps, notifications.
 *
 * rtnetlink and generic netlink execute a request inside the system call that sends it, and queue
 * its acknowledgement before that call returns; a dump always has its next part queued before the
 * last one is received. So requests are non-blocking too: if a reply is missing, it will never
 * arrive, and waiting for it would block the daemon forever. Only the last request of a batch
 * requests an acknowledgement: the kernel replies in order, and replies to every refused request
 * anyway. A batch is so short that even refusals of all of it (about 1.3 KiB of receive buffer
 * each) can't overflow the smallest default.
 *
 * Any privileged process may send to our port; only messages of the kernel (port 0) are read.
 *
 * Kernel interfaces in use: NETLINK_EXT_ACK and NETLINK_CAP_ACK (4.12), NETLINK_GET_STRICT_CHK
 * (4.20), without which a dump ignores the filter in its request.
 */
#include "apply/netlink/nl.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"

enum {
    BATCH_MAX = 64,
    DUMP_ATTEMPTS = 10,
    REQUEST_BUFFER_BYTES = 1 << 20,
    LISTENER_BUFFER_BYTES = 16 << 20,
    DATAGRAM_MAX = 64 << 10, /* the kernel's dumps use at most 32 KiB */
};

struct nl_socket {
    struct mnl_socket *mnl;
    uint32_t sequence;
    char datagram[DATAGRAM_MAX] __attribute__((aligned(8)));
};

/* Beyond net.core.rmem_max only with CAP_NET_ADMIN; without it, up to that limit. */
static void grow_receive_buffer(int fd, int bytes)
{
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

/* A socket that is being opened. */
struct opening {
    int netns, family;
    struct mnl_socket *mnl; /* NULL: `error` says why */
    int error;
};

static void open_here(struct opening *opening)
{
    opening->mnl = mnl_socket_open2(opening->family, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!opening->mnl)
        opening->error = -errno;
}

static void *open_there(void *context)
{
    struct opening *opening = context;
    if (setns(opening->netns, CLONE_NEWNET) < 0)
        opening->error = -errno;
    else
        open_here(opening);
    return NULL;
}

/* A thread enters the namespace, leaves the socket, and ends: no thread has to switch back. */
static void visit(struct opening *opening)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, open_there, opening);
    if (error == 0)
        error = pthread_join(thread, NULL);
    if (error)
        opening->error = -error;
}

static int open_bound(int netns, int family, struct nl_socket **ret_socket)
{
    CLEANUP(nl_closep) struct nl_socket *socket = calloc(1, sizeof(*socket));
    if (!socket)
        return -ENOMEM;
    struct opening opening = { .netns = netns, .family = family };
    if (netns == NL_HERE)
        open_here(&opening);
    else
        visit(&opening);
    socket->mnl = opening.mnl;
    if (opening.error < 0)
        return opening.error;
    if (mnl_socket_bind(socket->mnl, 0, MNL_SOCKET_AUTOPID) < 0)
        return -errno;
    *ret_socket = TAKE_PTR(socket);
    return 0;
}

int nl_open_in(int netns, int family, struct nl_socket **ret_socket)
{
    static const int options[] = { NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK };
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    int r = open_bound(netns, family, &socket);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        int on = 1;
        if (mnl_socket_setsockopt(socket->mnl, options[i], &on, sizeof(on)) < 0)
            return -errno;
    }
    grow_receive_buffer(nl_fd(socket), REQUEST_BUFFER_BYTES);
    *ret_socket = TAKE_PTR(socket);
    return 0;
}

int nl_open(struct nl_socket **ret_socket)
{
    return nl_open_in(NL_HERE, NETLINK_ROUTE, ret_socket);
}

int nl_open_listener(int netns, int family, const uint32_t *groups, size_t count,
                     struct nl_socket **ret_socket)
{
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    int r = open_bound(netns, family, &socket);
    if (r < 0)
        return r;
    grow_receive_buffer(nl_fd(socket), LISTENER_BUFFER_BYTES);
    for (size_t i = 0; i < count; i++) {
        uint32_t group = groups[i];
        if (mnl_socket_setsockopt(socket->mnl, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
            return -errno;
    }
    *ret_socket = TAKE_PTR(socket);
    return 0;
}

void nl_close(struct nl_socket *socket)
{
    if (!socket)
        return;
    if (socket->mnl)
        (void)mnl_socket_close(socket->mnl);
    free(socket);
}

int nl_fd(const struct nl_socket *socket)
{
    return mnl_socket_get_fd(socket->mnl);
}

uint32_t nl_port_id(const struct nl_socket *socket)
{
    return mnl_socket_get_portid(socket->mnl);
}

/* Receives the kernel's next datagram, if one is queued. Returns its size or -errno (-EAGAIN:
 * none). */
static ssize_t receive_datagram(struct nl_socket *socket)
{
    for (;;) {
        struct sockaddr_nl from;
        struct iovec part = { socket->datagram, sizeof(socket->datagram) };
        struct msghdr message = {
            .msg_name = &from,
            .msg_namelen = sizeof(from),
            .msg_iov = &part,
            .msg_iovlen = 1,
        };
        ssize_t size = recvmsg(nl_fd(socket), &message, MSG_DONTWAIT);
        if (size < 0 && errno != EINTR)
            return -errno;
        if (size < 0 || message.msg_namelen != sizeof(from) || from.nl_pid != 0)
            continue;
        if (message.msg_flags & MSG_TRUNC)
            return -ENOBUFS;
        return size;
    }
}

static int send_requests(struct nl_socket *socket, struct iovec *parts, size_t count)
{
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    struct msghdr message = {
        .msg_name = &kernel,
        .msg_namelen = sizeof(kernel),
        .msg_iov = parts,
        .msg_iovlen = count,
    };
    ssize_t size;
    do {
        size = sendmsg(nl_fd(socket), &message, 0);
    } while (size < 0 && errno == EINTR);
    return size < 0 ? -errno : 0;
}

/* The error that ends a reply: in NLMSG_ERROR and NLMSG_DONE alike, the first number. */
static int end_of_answer(const struct nlmsghdr *message)
{
    int error = 0;
    if (mnl_nlmsg_get_payload_len(message) >= sizeof(error))
        memcpy(&error, mnl_nlmsg_get_payload(message), sizeof(error));
    return MIN(error, 0);
}

/* Reads a reply to its end, also after a row failed: an unfinished dump blocks the next one. */
static int receive_answer(struct nl_socket *socket, nl_row_fn on_row, void *context,
                          bool *ret_interrupted)
{
    bool interrupted = false;
    int row_error = 0;
    for (;;) {
        ssize_t size = receive_datagram(socket);
        if (size < 0)
            return size == -EAGAIN ? -EPROTO : (int)size;

        int left = (int)size;
        for (const struct nlmsghdr *it = (void *)socket->datagram; nl_message_ok(it, left);
             it = mnl_nlmsg_next(it, &left)) {
            if (it->nlmsg_seq != socket->sequence)
                continue;
            interrupted |= (it->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
            if (it->nlmsg_type == NLMSG_DONE || it->nlmsg_type == NLMSG_ERROR) {
                *ret_interrupted = interrupted;
                return row_error ? row_error : end_of_answer(it);
            }
            if (row_error == 0)
                row_error = MIN(on_row(it, context), 0);
        }
    }
}

/* Sends the request and reads all replies. */
static int ask(struct nl_socket *socket, struct nl_request *request, nl_row_fn on_row,
               void *context, bool *ret_interrupted)
{
    request->header->nlmsg_seq = ++socket->sequence;
    struct iovec part = { request->header, request->header->nlmsg_len };
    int r = send_requests(socket, &part, 1);
    return r < 0 ? r : receive_answer(socket, on_row, context, ret_interrupted);
}

int nl_get(struct nl_socket *socket, struct nl_request *request, nl_row_fn on_row, void *context)
{
    bool interrupted;
    if (request->error < 0)
        return request->error;
    request->header->nlmsg_flags |= NLM_F_ACK;
    return ask(socket, request, on_row, context, &interrupted);
}

int nl_dump(struct nl_socket *socket, struct nl_request *request, nl_row_fn on_row,
            void (*restart)(void *context), void *context)
{
    if (request->error < 0)
        return request->error;
    request->header->nlmsg_flags |= NLM_F_DUMP;
    for (int attempt = 0; attempt < DUMP_ATTEMPTS; attempt++) {
        if (attempt > 0 && restart)
            restart(context);
        bool interrupted = false;
        int r = ask(socket, request, on_row, context, &interrupted);
        if (r < 0 || !interrupted)
            return r;
    }
    return -EAGAIN;
}

/* With NETLINK_CAP_ACK the attributes follow the header of the request that is quoted. */
static void read_ack(const struct nlmsghdr *message, struct nl_result *result)
{
    const struct nlmsgerr *ack = mnl_nlmsg_get_payload(message);
    *result = (struct nl_result){ .error = ack->error };
    if (!(message->nlmsg_flags & NLM_F_ACK_TLVS) || !(message->nlmsg_flags & NLM_F_CAPPED))
        return;

    static const struct nl_wanted wanted[] = { { NLMSGERR_ATTR_MSG, 0 } };
    const struct nlattr *attributes[NLMSGERR_ATTR_MSG + 1];
    nl_parse(message, sizeof(*ack), wanted, ARRAY_SIZE(wanted), attributes, NLMSGERR_ATTR_MSG);
    if (attributes[NLMSGERR_ATTR_MSG]) {
        const char *text = mnl_attr_get_str(attributes[NLMSGERR_ATTR_MSG]);
        memcpy(result->text, text, strnlen(text, sizeof(result->text) - 1));
    }
}

/* Fills in the results of the requests, numbered from `first` to `last`, that have a reply. */
static int receive_acks(struct nl_socket *socket, uint32_t first, size_t count, uint32_t last,
                        struct nl_result *results)
{
    for (bool more = true; more;) {
        ssize_t size = receive_datagram(socket);
        if (size < 0)
            return size == -EAGAIN ? -EPROTO : (int)size;

        int left = (int)size;
        for (const struct nlmsghdr *it = (void *)socket->datagram; nl_message_ok(it, left);
             it = mnl_nlmsg_next(it, &left)) {
            uint32_t index = it->nlmsg_seq - first;
            if (it->nlmsg_type != NLMSG_ERROR || index >= count ||
                mnl_nlmsg_get_payload_len(it) < sizeof(struct nlmsgerr))
                continue;
            read_ack(it, &results[index]);
            more &= it->nlmsg_seq != last;
        }
    }
    return 0;
}

static int run_batch(struct nl_socket *socket, struct nl_request *requests, size_t count,
                     struct nl_result *results)
{
    struct iovec parts[BATCH_MAX];
    size_t sent = 0;
    struct nlmsghdr *last = NULL;
    uint32_t first = socket->sequence + 1;
    socket->sequence += (uint32_t)count;

    for (size_t i = 0; i < count; i++) {
        struct nlmsghdr *header = requests[i].header;
        results[i] = (struct nl_result){ .error = requests[i].error };
        if (requests[i].error < 0)
            continue;
        header->nlmsg_seq = first + (uint32_t)i;
        parts[sent++] = (struct iovec){ header, header->nlmsg_len };
        last = header;
    }
    if (!last)
        return 0;
    last->nlmsg_flags |= NLM_F_ACK;
    int r = send_requests(socket, parts, sent);
    return r < 0 ? r : receive_acks(socket, first, count, last->nlmsg_seq, results);
}

int nl_batch(struct nl_socket *socket, struct nl_request *requests, size_t count,
             struct nl_result *results)
{
    for (size_t done = 0; done < count;) {
        size_t some = MIN(count - done, (size_t)BATCH_MAX);
        int r = run_batch(socket, requests + done, some, results + done);
        if (r < 0)
            return r;
        done += some;
    }
    return 0;
}

int nl_run(struct nl_socket *socket, struct nl_request *request, struct nl_result *result)
{
    struct nl_result own;
    if (!result)
        result = &own;
    *result = (struct nl_result){ 0 };
    int r = nl_batch(socket, request, 1, result);
    return r < 0 ? r : result->error;
}

/* Numbers the messages; returns the number of the acknowledged one. */
static uint32_t number(struct nl_socket *socket, void *bytes, size_t size)
{
    uint32_t acknowledged = socket->sequence + 1;
    int left = (int)size;
    for (struct nlmsghdr *it = bytes; nl_message_ok(it, left); it = mnl_nlmsg_next(it, &left)) {
        it->nlmsg_seq = ++socket->sequence;
        if (it->nlmsg_flags & NLM_F_ACK)
            acknowledged = it->nlmsg_seq;
    }
    return acknowledged;
}

/* An error of the whole transaction is a reply to the first message, and may be the only one. */
static int receive_verdict(struct nl_socket *socket, uint32_t first, uint32_t acknowledged,
                           struct nl_result *result)
{
    for (bool more = true; more;) {
        ssize_t size = receive_datagram(socket);
        if (size < 0)
            return size == -EAGAIN && result->error < 0 ? 0 : size == -EAGAIN ? -EPROTO : (int)size;

        int left = (int)size;
        for (const struct nlmsghdr *it = (void *)socket->datagram; nl_message_ok(it, left);
             it = mnl_nlmsg_next(it, &left)) {
            struct nl_result one;
            if (it->nlmsg_type != NLMSG_ERROR || it->nlmsg_seq - first > acknowledged - first ||
                mnl_nlmsg_get_payload_len(it) < sizeof(struct nlmsgerr))
                continue;
            read_ack(it, &one);
            if (result->error == 0)
                *result = one;
            more &= it->nlmsg_seq != acknowledged;
        }
    }
    return 0;
}

int nl_transact(struct nl_socket *socket, void *bytes, size_t size, struct nl_result *result)
{
    struct iovec part = { bytes, size };
    int room = (int)size + 4096;
    const uint32_t first = socket->sequence + 1;
    const uint32_t acknowledged = number(socket, bytes, size);
    *result = (struct nl_result){ 0 };
    /* The kernel doubles the given size, and accepts no datagram longer than the buffer. */
    if (setsockopt(nl_fd(socket), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) < 0)
        (void)setsockopt(nl_fd(socket), SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    int r = send_requests(socket, &part, 1);
    if (r < 0)
        return r;
    r = receive_verdict(socket, first, acknowledged, result);
    return r < 0 ? r : result->error;
}

int nl_receive(struct nl_socket *socket, nl_row_fn on_row, void *context)
{
    bool lost = false;
    for (;;) {
        ssize_t size = receive_datagram(socket);
        if (size == -EAGAIN)
            return lost ? -ENOBUFS : 0;
        if (size < 0 && size != -ENOBUFS)
            return (int)size;
        lost |= size < 0;
        if (lost)
            continue;

        int left = (int)size;
        for (const struct nlmsghdr *it = (void *)socket->datagram; nl_message_ok(it, left);
             it = mnl_nlmsg_next(it, &left)) {
            int r = on_row(it, context);
            if (r < 0)
                return r;
        }
    }
}
