/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of this host that accept packets from any peer: TCP that listens, UDP without a peer. */
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

enum { LISTENING_MAX = 4096 }; /* per protocol and family: further sockets are left out */

/* Opens a socket for listening_dump(), in the caller's network namespace. Returns the same as
 * nl_open_in(). */
int listening_open(struct nl_socket **ret_socket);

/*
 * Reads the sockets of TCP and UDP, of both families, by a socket of listening_open(). The caller
 * frees the list by vec_done(). Protocols without sock_diag in the kernel are left out. Returns 0
 * or -errno with the list unchanged.
 */
int listening_dump(struct nl_socket *socket, listening_list *ret_list);
