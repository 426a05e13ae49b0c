// SPDX-License-Identifier: Apache-2.0
/*
 * See segment_socket.h. Used by the code that sends and receives claims.
 *
 * IPv6 probes are sent to the solicited-node group of an address, which the interface has not
 * joined; a packet socket that receives all multicast gets them, and the replies, which are sent to
 * all nodes.
 */
#include "apply/segment/segment_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"

struct segment_socket {
    int fd;
    uint32_t ifindex;
};

/* ARP; ICMPv6 of types 135 and 136 without extension headers. A VLAN's tag is not in the frame. */
static const struct sock_filter wanted[] = {
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_ARP, 7, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 5),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 0, 3),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 54),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 137, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 135, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, 0),
    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
};

static int set_up(const struct segment_socket *socket)
{
    const int on = 1;
    const struct sock_fprog filter = { .len = ARRAY_SIZE(wanted),
                                       .filter = (struct sock_filter *)wanted };
    const struct packet_mreq multicast = { .mr_ifindex = (int)socket->ifindex,
                                           .mr_type = PACKET_MR_ALLMULTI };
    const struct sockaddr_ll here = { .sll_family = AF_PACKET,
                                      .sll_protocol = htons(ETH_P_ALL),
                                      .sll_ifindex = (int)socket->ifindex };
    if (setsockopt(socket->fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0 ||
        setsockopt(socket->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) < 0 ||
        bind(socket->fd, (const struct sockaddr *)&here, sizeof(here)) < 0 ||
        setsockopt(socket->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &multicast, sizeof(multicast)) <
            0)
        return errno == ENXIO ? -ENODEV : -errno;
    return 0;
}

int segment_socket_open(uint32_t ifindex, struct segment_socket **ret_socket)
{
    CLEANUP(segment_socket_closep) struct segment_socket *made = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->ifindex = ifindex;
    /* With protocol 0 it receives nothing until it is bound. */
    made->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made->fd < 0)
        return -errno;
    int r = set_up(made);
    if (r < 0)
        return r;
    *ret_socket = TAKE_PTR(made);
    return 0;
}

void segment_socket_close(struct segment_socket *socket)
{
    if (!socket)
        return;
    if (socket->fd >= 0)
        close(socket->fd);
    free(socket);
}

int segment_socket_fd(const struct segment_socket *socket)
{
    return socket->fd;
}

/* A frame of length zero is ignored. */
static int send_frame(struct segment_socket *socket, const uint8_t *frame, size_t length)
{
    if (length == 0)
        return 0;
    return send(socket->fd, frame, length, 0) < 0 ? -errno : 0;
}

int segment_socket_send(struct segment_socket *socket, enum segment_word word, const struct ip *ip,
                        const uint8_t mac[static 6])
{
    uint8_t frame[SEGMENT_FRAME_MAX];
    return send_frame(socket, frame, segment_frame_build(word, ip, mac, frame));
}

int segment_socket_tell(struct segment_socket *socket, const struct ip *ip,
                        const uint8_t mac[static 6], const struct ip *host,
                        const uint8_t host_mac[static 6])
{
    uint8_t frame[SEGMENT_FRAME_MAX];
    return send_frame(socket, frame, segment_frame_tell(ip, mac, host, host_mac, frame));
}

/* A longer frame is none of ours, except for padding. */
int segment_socket_receive(struct segment_socket *socket, struct segment_claim *ret_claim)
{
    uint8_t frame[2048];
    ssize_t length;
    while ((length = recv(socket->fd, frame, sizeof(frame), 0)) >= 0) {
        if (segment_frame_parse(frame, (size_t)length, ret_claim))
            return 1;
    }
    /* The link notification also reports that the interface is down. */
    return errno == EAGAIN || errno == ENETDOWN || errno == EINTR ? 0 : -errno;
}
