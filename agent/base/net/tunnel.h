/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the encapsulation of egress' tunnels is called, and the port of it. Its bytes are known to
 * bpf/packet/encap.h, and to apply/egress/wire.h.
 */
#pragma once

#define TUNNEL_NAME "FoU"

/* As Coil has it: the default of egress.port, and what the Services of gateways have. */
enum { TUNNEL_PORT = 5555 };
