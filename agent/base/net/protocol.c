// SPDX-License-Identifier: Apache-2.0
/* Names of protocols, as Services write them. */
#include "base/net/protocol.h"

#include <errno.h>
#include <strings.h>

#include "base/macro.h"

const char *protocol_name(enum protocol protocol)
{
    switch (protocol) {
    case PROTOCOL_ICMP:
        return "ICMP";
    case PROTOCOL_TCP:
        return "TCP";
    case PROTOCOL_UDP:
        return "UDP";
    case PROTOCOL_SCTP:
        return "SCTP";
    }
    return "unknown";
}

int protocol_parse(const char *name, enum protocol *ret_protocol)
{
    static const enum protocol protocols[] = { PROTOCOL_TCP, PROTOCOL_UDP, PROTOCOL_SCTP };
    for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
        if (strcasecmp(name, protocol_name(protocols[i])) == 0) {
            *ret_protocol = protocols[i];
            return 0;
        }
    }
    return -EINVAL;
}
