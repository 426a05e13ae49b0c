/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps of egress; egress_abi.h says what is in them. Sizes here are defaults: the agent sets
 * others before it loads the programs, and pins the maps.
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/egress_abi.h"
#include "bpf/once.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct egress_control);
} egress_control SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, EGRESS_CAUSE_COUNT);
    __type(key, __u32);
    __type(value, struct egress_drop_value);
} egress_drops SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 8192);
    __type(key, struct nat_fragment_key);
    __type(value, struct egress_piece_value);
} egress_pieces SEC(".maps");

#ifdef EGRESS_CLIENT
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 4096);
    __type(key, struct nat_addr);
    __type(value, struct egress_pod_value);
} egress_pods SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LPM_TRIE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 262144);
    __type(key, struct egress_route_key);
    __type(value, struct egress_route_value);
} egress_routes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1024);
    __type(key, __u32);
    __type(value, __u32);
} egress_sets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1024 * EGRESS_SET_MAX);
    __type(key, __u32);
    __type(value, struct egress_gateway_value);
} egress_gateways SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 131072);
    __type(key, struct nat_tuple);
    __type(value, struct egress_pin_value);
} egress_pins SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 65536);
    __type(key, struct nat_tuple);
    __type(value, __u32);
} egress_inbound SEC(".maps");
#endif

#ifdef EGRESS_GATEWAY
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
    __uint(max_entries, 8192);
    __type(key, __u32);
    __type(value, __u64);
} egress_blocks SEC(".maps");
#endif
