/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of this host that wait for anybody: TCP that listens, UDP without a peer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "base/net/ip.h"
#include "base/net/protocol.h"
#include "base/vec.h"

struct listening {
    enum protocol protocol;
    struct ip
        ip; /* IP_NONE: every address (IPv6's :: takes IPv4 as well, unless it is told not to) */
    uint8_t family;
    uint16_t port;
    uint32_t uid;
};

typedef VEC(struct listening) listening_list;

enum { LISTENING_MAX = 4096 }; /* of a protocol and family: the others are left out */

/* Opens what it takes to ask, in the caller's network namespace. Returns as nl_open_in() does. */
int listening_open(struct nl_socket **ret_socket);

/*
 * Reads those of TCP and UDP, of both families, by a socket of listening_open(). The caller ends
 * the list by vec_done(). What the kernel has no sock_diag for is left out. Returns 0 or -errno
 * with the list untouched.
 */
int listening_dump(struct nl_socket *socket, listening_list *ret_list);
