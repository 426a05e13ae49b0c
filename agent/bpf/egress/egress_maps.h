/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps that both sides of egress have, each its own; egress_abi.h describes their contents. The
 * agent pins them.
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
    __type(key, struct nat_addr);
    __type(value, struct egress_path_value);
} egress_paths SEC(".maps");
