/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's default source address. */
#pragma once

#include <stdint.h>

#include "apply/netlink/nl.h"
#include "base/net/ip.h"

/*
 * Returns the source address by the default route of a family (enum ip_family); IP_NONE: there is
 * no such route, or it has none. Returns 0 or -errno when the socket failed.
 */
int source_by_default(struct nl_socket *socket, uint8_t family, struct ip *ret_ip);
