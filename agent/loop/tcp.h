/* SPDX-License-Identifier: Apache-2.0 */
/* Listening TCP sockets: non-blocking, closed on exec, free of TIME_WAIT. */
#pragma once

#include <stdint.h>

#include "base/net/ip.h"

/* Reads "address:port" or "[address]:port". Returns 0 or -EINVAL. */
int tcp_endpoint_parse(const char *endpoint, struct ip *ret_ip, uint16_t *ret_port);

enum tcp_presence {
    TCP_ADDRESS_PRESENT, /* -EADDRNOTAVAIL unless it is this host's */
    TCP_ADDRESS_ANY,     /* it may come later, or never */
};

/*
 * Listens on an address; :: is IPv6 only. IP_NONE: every address of both families by one socket,
 * whose IPv4 clients have mapped addresses, or of IPv4 where the kernel has no IPv6.
 * Returns 0 or -errno.
 */
int tcp_listen(const struct ip *ip, uint16_t port, enum tcp_presence presence, int *ret_fd);
