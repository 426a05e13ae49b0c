/* SPDX-License-Identifier: Apache-2.0 */
/* Netfilter's defragmentation, which the NAT program needs for fragments that come in disorder. */
#pragma once

#include "base/net/ip.h"

/* Its pins are called this and the family. */
#define NAT_DEFRAG_PIN "defragment-"

/*
 * Turns it on in a family and keeps it on while the pin in the folder `pins` stands, agent or not.
 * Does nothing if that is done already. Returns 0 or -errno: -EINVAL, -EOPNOTSUPP and the like if
 * the kernel lacks BPF links to netfilter (before Linux 6.6, or not configured).
 */
int nat_defrag_ensure(const char *pins, enum ip_family family);
