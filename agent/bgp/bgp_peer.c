// SPDX-License-Identifier: Apache-2.0
/* Parses BIRD's text into a peer; see bgp_peer.h. */
#include "bgp/bgp_peer.h"

#include <string.h>

#include "base/macro.h"

void bgp_peer_of(const struct bird_protocol *protocol, struct bgp_peer *ret_peer)
{
    struct bgp_peer *peer = ret_peer;
    *peer = (struct bgp_peer){
        .asn = protocol->asn,
        .local_asn = protocol->local_asn,
        .established = strcmp(protocol->bgp_state, "Established") == 0,
        .disabled = strcmp(protocol->state, "down") == 0 && !*protocol->last_error,
        .received = -1,
        .announced = -1,
        .exported = -1,
        .filtered = -1,
    };
    memcpy(peer->name, protocol->name, sizeof(peer->name));
    memcpy(peer->address, protocol->neighbor, sizeof(peer->address));
    memcpy(peer->state, protocol->bgp_state, sizeof(peer->state));
    memcpy(peer->last_error, protocol->last_error, sizeof(peer->last_error));
    for (int family = 0; family < BGP_FAMILIES; family++) {
        const struct bird_channel *channel = &protocol->channels[family];
        peer->exports[family] = channel->present && channel->exports;
        peer->limited |= channel->present && channel->limited;
        if (channel->present && channel->imported >= 0)
            peer->received = MAX(peer->received, 0) + channel->imported;
        if (channel->present && channel->exported >= 0)
            peer->announced = MAX(peer->announced, 0) + channel->exported;
    }
}
