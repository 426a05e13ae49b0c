/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of gateways as bytes: struct egress_probe of bpf/egress_abi.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status/egress_status.h"

enum { EGRESS_PROBE_SIZE = sizeof(struct egress_probe) };

void egress_probe_ask(uint64_t cookie, uint8_t ret[static EGRESS_PROBE_SIZE]);

/* Whether these bytes are a reply; returns the cookie of its probe, and the gateway's state. */
bool egress_probe_read(const uint8_t *bytes, size_t size, uint64_t *ret_cookie,
                       enum egress_phase *ret_phase);
