/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and ports as the kernel's socket calls take and give them. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "base/net/ip.h"

/* Fills in the address of a socket. Returns its length, for bind() and sendto(). */
socklen_t socket_address_of(const struct ip *ip, uint16_t port, struct sockaddr_storage *address);

/* The other way round, unmapped. IP_NONE and port 0 if it is of no IP family. */
void socket_address_read(const struct sockaddr_storage *address, struct ip *ret_ip,
                         uint16_t *ret_port);
