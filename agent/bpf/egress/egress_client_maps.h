/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps of the clients' side; see egress_maps.h. */
#pragma once

#include "bpf/egress/egress_maps.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 4096);
    __type(key, struct nat_addr);
    __type(value, struct egress_pod_value);
} egress_pods SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 16384);
    __type(key, __u32);
    __type(value, __u32);
} egress_seen SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 4096);
    __type(key, __u32);
    __type(value, __u32);
} egress_bridges SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 32768);
    __type(key, struct nat_addr);
    __type(value, __u32);
} egress_doors SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 512);
    __type(key, __u32);
    __type(value, __u64);
} egress_sets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 512 * EGRESS_SET_MAX);
    __type(key, __u32);
    __type(value, struct egress_gateway_value);
} egress_gateways SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 512);
    __type(key, __u32);
    __type(value, char[NAT_NAME_MAX]);
} egress_names SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, EGRESS_PIN_BUCKETS);
    __type(key, __u32);
    __type(value, struct egress_bucket);
} egress_pins SEC(".maps");
