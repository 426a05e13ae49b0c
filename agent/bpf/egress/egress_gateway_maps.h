/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps of a gateway; see egress_maps.h. */
#pragma once

#include "bpf/egress/egress_maps.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 65536);
    __type(key, struct nat_addr);
    __type(value, struct egress_client_value);
} egress_clients SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 65536);
    __type(key, __u32);
    __type(value, struct egress_ports_value);
} egress_ports SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 65534); /* numbers + 1 are 16 bits wide */
    __type(key, __u32);
    __type(value, __u64);
} egress_blocks SEC(".maps");
