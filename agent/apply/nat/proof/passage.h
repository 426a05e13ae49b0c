/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a packet of ours through the stack: does the host forward what it should forward? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "base/cleanup.h"
#include "base/net/ip.h"
#include "base/net/protocol.h"

struct passage;

/* The packet and its path. Both interfaces have Ethernet headers. */
struct passage_way {
    uint32_t in, out;  /* interfaces */
    uint8_t in_mac[6]; /* that of `in` */
    struct ip source, destination;
    uint16_t source_port, destination_port;
    enum protocol protocol; /* TCP or UDP */
    uint32_t mark;          /* that our program sets on such a packet */
    bool answers;           /* the previous packet, sent in the other direction */
};

/* Loads the programs. Has the requirements of service NAT. Returns 0 or -errno. */
int passage_open(struct passage **ret_passage);
void passage_close(struct passage *passage);
DEFINE_CLEANUP(struct passage *, passage_close);

/*
 * Sends one packet, and waits some milliseconds for it at the exit, where it is dropped in any
 * case. `socket`: of rtnetlink. Returns 1 if it arrived, 0 if not, or -errno where it could not be
 * sent.
 */
int passage_try(struct passage *passage, struct nl_socket *socket, const struct passage_way *path);
