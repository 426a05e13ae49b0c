/* SPDX-License-Identifier: Apache-2.0 */
/* The transport protocols of Services. */
#pragma once

enum protocol { PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, PROTOCOL_SCTP = 132 }; /* IANA numbers */

/* "TCP". */
const char *protocol_name(enum protocol protocol);

/* Reads such a name, in any case. Returns 0 or -EINVAL. */
int protocol_parse(const char *name, enum protocol *ret_protocol);
