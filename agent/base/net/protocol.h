/* SPDX-License-Identifier: Apache-2.0 */
/* The transport protocols of Services, and what a ping is. */
#pragma once

enum protocol {                    /* IANA numbers */
                PROTOCOL_ICMP = 1, /* of both families; no Service has it */
                PROTOCOL_TCP = 6,
                PROTOCOL_UDP = 17,
                PROTOCOL_SCTP = 132,
};

/* "TCP". */
const char *protocol_name(enum protocol protocol);

/* Reads the name of a protocol that Services have, in any case. Returns 0 or -EINVAL. */
int protocol_parse(const char *name, enum protocol *ret_protocol);
