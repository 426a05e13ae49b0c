/* SPDX-License-Identifier: Apache-2.0 */
/* A packet of ours through the stack: does the host let pass what it is to forward? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "base/cleanup.h"
#include "base/net/ip.h"
#include "base/net/protocol.h"

struct passage;

/* From where to where. Both interfaces have Ethernet headers. */
struct passage_way {
    uint32_t in, out;  /* interfaces */
    uint8_t in_mac[6]; /* that of `in` */
    struct ip source, destination;
    uint16_t source_port, destination_port;
    enum protocol protocol; /* TCP or UDP */
    uint32_t mark;          /* that our program gives such a packet */
    bool answers;           /* the packet before this one, which came the other way */
};

/* Loads the programs. Needs what service NAT needs. Returns 0 or -errno. */
int passage_open(struct passage **ret_passage);
void passage_close(struct passage *passage);
DEFINE_CLEANUP(struct passage *, passage_close);

/*
 * Sends one packet, and waits some milliseconds for it at the exit, where it ends in any case.
 * `socket`: of rtnetlink. Returns 1 if it came there, 0 if not, or -errno where it could not be
 * tried.
 */
int passage_try(struct passage *passage, struct nl_socket *socket, const struct passage_way *path);
