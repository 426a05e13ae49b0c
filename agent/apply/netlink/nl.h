/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thin layer over libmnl: one socket for requests, one for notifications.
 *
 * Replies include the kernel's extended ack text, which libmnl alone would drop. Dumps that a
 * concurrent change interrupts (NLM_F_DUMP_INTR) are restarted.
 *
 * A socket can have any netlink family (NETLINK_ROUTE, NETLINK_GENERIC: genl.h, NETLINK_NETFILTER)
 * and any network namespace. It keeps its namespace as long as it is open, even if the names and
 * processes of the namespace are gone. Sockets in other namespaces are for the CNI plugin and for
 * tests: agentd stays in one namespace and never enters another.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "apply/netlink/message.h"
#include "base/cleanup.h"

struct nl_socket;

/* Instead of a descriptor of a network namespace: the caller's namespace. */
enum { NL_HERE = -1 };

/*
 * Opens a request socket with extended acks and strict checking (Linux 4.20): of a netlink family
 * (NETLINK_*), in the network namespace of the descriptor `netns`, or NL_HERE. The caller's
 * namespace does not change, and the caller still owns the descriptor. Returns 0; -EBADF or -EINVAL
 * if the descriptor is no network namespace, -EPERM without CAP_SYS_ADMIN in both namespaces,
 * -EPROTONOSUPPORT if the kernel lacks the family, or -errno.
 */
int nl_open_in(int netns, int family, struct nl_socket **ret_socket);
/* The usual one: NETLINK_ROUTE, NL_HERE. */
int nl_open(struct nl_socket **ret_socket);
void nl_close(struct nl_socket *socket);
DEFINE_CLEANUP(struct nl_socket *, nl_close);

/*
 * Opens a socket that receives these groups (RTNLGRP_*, or the result of genl_group()), with the
 * largest receive buffer that is permitted. `netns`, `family` and errors as for nl_open_in().
 */
int nl_open_listener(int netns, int family, const uint32_t *groups, size_t count,
                     struct nl_socket **ret_socket);

/* To be polled for input. */
int nl_fd(const struct nl_socket *socket);

/* The port id that notifications have for this socket's changes. */
uint32_t nl_port_id(const struct nl_socket *socket);

/* The result of one request of a batch. An overflown request is not sent: -EMSGSIZE. */
struct nl_result {
    int error;     /* 0 or -errno from the kernel */
    char text[96]; /* extended ack, "" if there was none */
};

/* Called for each row of a dump or each notification, with the whole message. */
typedef int (*nl_row_fn)(const struct nlmsghdr *row, void *context);

/*
 * Runs a dump. `restart` (may be NULL) is called before each repetition, so that the caller can
 * drop the rows of the interrupted attempt. A negative result of `on_row` ends the dump. Returns 0,
 * -EAGAIN after 10 interrupted attempts, the negative result of `on_row`, or -errno.
 */
int nl_dump(struct nl_socket *socket, struct nl_request *request, nl_row_fn on_row,
            void (*restart)(void *context), void *context);

/*
 * Requests one object; `on_row` gets the reply. Returns the same as nl_dump() (-ENODEV,
 * -ENETUNREACH, ... where there is no such object).
 */
int nl_get(struct nl_socket *socket, struct nl_request *request, nl_row_fn on_row, void *context);

/*
 * Sends `count` requests; results[i] is the result of requests[i]. Many requests are sent by one
 * system call, in order. A refused request does not stop the following ones. Returns 0 when all
 * results are filled in, or -errno when the socket failed.
 */
int nl_batch(struct nl_socket *socket, struct nl_request *requests, size_t count,
             struct nl_result *results);

/*
 * Sends one request; `result` (may be NULL) is its result. Returns 0 or -errno, of the request or
 * of the socket.
 */
int nl_run(struct nl_socket *socket, struct nl_request *request, struct nl_result *result);

/*
 * Sends messages of which the kernel applies all or none, as one datagram (built by nft.h). This
 * function numbers them; one of them requests an acknowledgement. `result`: that of the first
 * refused message. Returns 0, or -errno, of a message or of the socket.
 */
int nl_transact(struct nl_socket *socket, void *bytes, size_t size, struct nl_result *result);

/*
 * Passes all queued notifications to `on_row`, without waiting for more. The first negative result
 * ends it. Returns 0, the negative result of `on_row`, -ENOBUFS if notifications were lost (those
 * still queued are discarded: the caller has to dump), or -errno.
 */
int nl_receive(struct nl_socket *socket, nl_row_fn on_row, void *context);
