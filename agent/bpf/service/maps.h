/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps; abi.h describes their contents, and lists them. Sizes here are the defaults of
 * services.maps: the agent sets the configured ones before it loads the programs, and pins the
 * maps.
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/flow_abi.h"
#include "bpf/once.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct nat_control);
} control SEC(".maps");

/* Words of each half of "filter", a power of two. The loader sets it beside the map's size. */
const volatile __u32 filter_words SEC(".rodata.filter") = NAT_FILTER_WORDS;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __uint(value_size, 2 * NAT_FILTER_WORDS * sizeof(__u64));
} filter SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 262144);
    __type(key, struct nat_frontend_key);
    __type(value, struct nat_frontend_value);
} frontends SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 65536);
    __type(key, __u32);
    __type(value, __u64);
} services SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 262144);
    __type(key, __u32);
    __type(value, struct nat_port_value);
} ports SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1048576);
    __type(key, __u32);
    __type(value, __u64);
} slots SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 262144);
    __type(key, __u32);
    __type(value, struct nat_endpoint_value);
} endpoints SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LPM_TRIE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 262144);
    __type(key, struct nat_range_key);
    __type(value, __u32);
} ranges SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 524288);
    __type(key, struct nat_tuple);
    __type(value, struct nat_flow);
} flows SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 262144);
    __type(key, __u32);
    __type(value, struct nat_tuple);
} ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 262144);
    __type(key, __u32);
    __type(value, struct nat_came);
} came SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 262144);
    __type(key, __u32);
    __type(value, struct nat_search);
} searches SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct nat_pressure);
} pressure SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 2 * NAT_MAX_PEERS);
    __type(key, __u32);
    __type(value, struct nat_addr);
} peers SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 65536);
    __type(key, struct nat_affinity_key);
    __type(value, struct nat_affinity_value);
} affinity SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 65536 * NAT_COUNTER_STRIPES);
    __type(key, __u32);
    __type(value, struct nat_counter);
} counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 8192);
    __type(key, struct nat_refusal_key);
    __type(value, struct nat_refusal_value);
} refusals SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 8192);
    __type(key, struct nat_addr);
    __type(value, __u64);
} limits SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 8192);
    __type(key, __u32);
    __type(value, struct nat_interface_value);
} interfaces SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 8192);
    __type(key, struct nat_fragment_key);
    __type(value, struct nat_fragment_value);
} fragments SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 65536);
    __type(key, __u32);
    __type(value, char[NAT_NAME_MAX]);
} names SEC(".maps");
