// SPDX-License-Identifier: Apache-2.0
/* Probes of gateways as bytes; see probe.h. */
#include "apply/egress/probe.h"

#include <arpa/inet.h>
#include <string.h>

void egress_probe_ask(uint64_t cookie, uint8_t ret[static EGRESS_PROBE_SIZE])
{
    const struct egress_probe question = {
        .kind = EGRESS_PROBE_QUESTION,
        .magic = htonl(EGRESS_PROBE_MAGIC),
        .cookie = cookie,
    };
    memcpy(ret, &question, sizeof(question));
}

bool egress_probe_read(const uint8_t *bytes, size_t size, uint64_t *ret_cookie,
                       enum egress_phase *ret_phase)
{
    struct egress_probe answer;
    if (size != sizeof(answer))
        return false;
    memcpy(&answer, bytes, sizeof(answer));
    if (answer.version || answer.kind != EGRESS_PROBE_ANSWER ||
        answer.magic != htonl(EGRESS_PROBE_MAGIC))
        return false;
    const unsigned state = ntohs(answer.state);
    *ret_cookie = answer.cookie;
    *ret_phase = state & EGRESS_PROBE_GONE      ? EGRESS_OUT_OF_SERVICE
                 : state & EGRESS_PROBE_LEAVING ? EGRESS_LEAVING_SERVICE
                 : state & EGRESS_PROBE_STALE   ? EGRESS_STALE_SERVICE
                                                : EGRESS_SERVING;
    return true;
}
