/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet socket of one interface, for the frames of segment_frame.h: sends them, and receives
 * the claims of other hosts. Needs CAP_NET_RAW.
 *
 * A filter in the kernel drops everything but ARP and neighbour discovery; frames from this socket
 * and from the kernel itself are not received. On a port of a bridge or a bond, and below a VLAN,
 * the socket is that of the interface that has the address.
 */
#pragma once

#include <stdint.h>

#include "apply/segment/segment_frame.h"
#include "base/cleanup.h"

struct segment_socket;

/* Returns 0; -EPERM without CAP_NET_RAW; -ENODEV; or -errno. */
int segment_socket_open(uint32_t ifindex, struct segment_socket **ret_socket);
void segment_socket_close(struct segment_socket *socket);
DEFINE_CLEANUP(struct segment_socket *, segment_socket_close);

/* To be polled for input. */
int segment_socket_fd(const struct segment_socket *socket);

/* Sends one frame. Returns 0, -ENETDOWN while the interface is down, or -errno. */
int segment_socket_send(struct segment_socket *socket, enum segment_word word, const struct ip *ip,
                        const uint8_t mac[static 6]);

/* Announces to one host only (segment_frame_tell()). Returns the same. */
int segment_socket_tell(struct segment_socket *socket, const struct ip *ip,
                        const uint8_t mac[static 6], const struct ip *host,
                        const uint8_t host_mac[static 6]);

/* Reads the next received claim. Returns 1; 0: there is none for now; or -errno. */
int segment_socket_receive(struct segment_socket *socket, struct segment_claim *ret_claim);
