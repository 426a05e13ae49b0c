/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thin layer over libmnl: one socket for requests, one for notifications.
 *
 * Replies carry the kernel's extended ack text, which libmnl alone would drop. Dumps that a
 * concurrent change interrupts (NLM_F_DUMP_INTR) start over.
 *
 * A socket is of any netlink family (NETLINK_ROUTE, NETLINK_GENERIC: genl.h, NETLINK_NETFILTER),
 * and of any network namespace. It keeps its namespace for as long as it is open, whatever becomes
 * of the names and processes that the namespace had. Sockets in other namespaces are for the CNI
 * plugin and for tests: agentd lives in one namespace and never enters another.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "apply/netlink/message.h"
#include "base/cleanup.h"

struct nl_socket;

/* In the place of a descriptor of a network namespace: the one that the caller is in. */
enum { NL_HERE = -1 };

/*
 * Opens a request socket with extended acks and strict checking (Linux 4.20): of a netlink family
 * (NETLINK_*), in the network namespace that the descriptor `netns` stands for, or NL_HERE. The
 * caller stays where it is, and keeps the descriptor. Returns 0; -EBADF or -EINVAL if that is no
 * network namespace, -EPERM without CAP_SYS_ADMIN there and here, -EPROTONOSUPPORT if the kernel
 * lacks the family, or -errno.
 */
int nl_open_in(int netns, int family, struct nl_socket **ret_socket);
/* The usual one: NETLINK_ROUTE, NL_HERE. */
int nl_open(struct nl_socket **ret_socket);
void nl_close(struct nl_socket *socket);
DEFINE_CLEANUP(struct nl_socket *, nl_close);

/*
 * Opens a socket that hears these groups (RTNLGRP_*, or what genl_group() found), with a receive
 * buffer as large as we may make it. `netns`, `family` and errors as for nl_open_in().
 */
int nl_open_listener(int netns, int family, const uint32_t *groups, size_t count,
                     struct nl_socket **ret_socket);

/* To be polled for input. */
int nl_fd(const struct nl_socket *socket);

/* The port id by which notifications name this socket's changes. */
uint32_t nl_port_id(const struct nl_socket *socket);

/* What became of one request of a batch. An overflown request is not sent: -EMSGSIZE. */
struct nl_result {
    int error;     /* 0 or -errno from the kernel */
    char text[96]; /* extended ack, "" if it gave none */
};

/* Called for each row of a dump or each notification, with the whole message. */
typedef int (*nl_row_fn)(const struct nlmsghdr *row, void *context);

/*
 * Runs a dump. `restart` (may be NULL) is called before each repetition, so that the caller can
 * drop the rows of the interrupted attempt. A negative return of `on_row` ends the dump. Returns 0,
 * -EAGAIN after 10 interrupted attempts, what a row returned, or -errno.
 */
int nl_dump(struct nl_socket *socket, struct nl_request *request, nl_row_fn on_row,
            void (*restart)(void *context), void *context);

/*
 * Asks for one thing; `on_row` gets what the kernel says. Returns as nl_dump() does (-ENODEV,
 * -ENETUNREACH, ... where there is no such thing).
 */
int nl_get(struct nl_socket *socket, struct nl_request *request, nl_row_fn on_row, void *context);

/*
 * Sends `count` requests; results[i] is what became of requests[i]. Many requests go
 * in one send, in order. A refusal does not stop the ones behind it. Returns 0 when every result
 * is filled in, or -errno when the socket failed.
 */
int nl_batch(struct nl_socket *socket, struct nl_request *requests, size_t count,
             struct nl_result *results);

/*
 * Sends one request; `result` (may be NULL) is what became of it. Returns 0 or -errno, be it of the
 * request or of the socket.
 */
int nl_run(struct nl_socket *socket, struct nl_request *request, struct nl_result *result);

/*
 * Sends messages that the kernel carries out together or not at all, as one datagram (nft.h builds
 * it). They are numbered here; one of them asks for an acknowledgement. `result`: what became of
 * the first that was refused. Returns 0, or -errno, be it of a message or of the socket.
 */
int nl_transact(struct nl_socket *socket, void *bytes, size_t size, struct nl_result *result);

/*
 * Hands all queued notifications to `on_row`, without waiting for more. The first negative return
 * ends it. Returns 0, what a row returned, -ENOBUFS if notifications were lost (those still queued
 * are thrown away: the caller has to dump), or -errno.
 */
int nl_receive(struct nl_socket *socket, nl_row_fn on_row, void *context);
