/* SPDX-License-Identifier: Apache-2.0 */
/* Netfilter's defragmentation, which the NAT program needs for fragments that arrive out of
 * order. */
#pragma once

#include "base/net/ip.h"

/* The names of its pins: this and the family. */
#define NAT_DEFRAG_PIN "defragment-"

/*
 * Turns defragmentation on for a family, and keeps it on while the pin in the folder `pins` exists,
 * even without the agent. Does nothing if it is on already. Returns 0 or -errno: -EINVAL,
 * -EOPNOTSUPP and the like if the kernel lacks BPF links to netfilter (before Linux 6.6, or not
 * configured).
 */
int nat_defrag_ensure(const char *pins, enum ip_family family);
