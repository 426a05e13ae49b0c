/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the encapsulation of egress' tunnels is called, its port, and what it adds to a packet. Its
 * bytes are known to bpf/packet/encap.h, and to apply/egress/wire.h.
 */
#pragma once

#define TUNNEL_NAME "FoU"

enum {
    TUNNEL_PORT = 5555, /* as Coil has it: the default of egress.port, and of gateways' Services */
    TUNNEL_ROOM = 40 + 8, /* bytes that a tunnel adds at the most: headers of IPv6 and UDP */
};
