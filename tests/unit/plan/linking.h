/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces and addresses as tests write them down. */
#pragma once

#include <net/if_arp.h>
#include <stdio.h>

#include "plan/nat/nat_hooks.h"
#include "planning.h"

/* An Ethernet interface that is up, numbered by the order of calls. */
static inline struct link *put_link(struct sorted *links, const char *name, const char *kind)
{
    struct link link = {
        .ifindex = (uint32_t)links->count + 1,
        .mtu = 1500,
        .type = ARPHRD_ETHER,
        .up = true,
    };
    snprintf(link.name, sizeof(link.name), "%s", name);
    snprintf(link.kind, sizeof(link.kind), "%s", kind);
    assert_int_equal(sorted_put(links, &link), 0);
    return sorted_find(links, &link);
}

static inline struct link_address *put_address(struct sorted *addresses, uint32_t ifindex,
                                               const char *ip)
{
    struct link_address address = { .ifindex = ifindex, .order = (uint32_t)addresses->count };
    assert_int_equal(ip_parse(ip, &address.ip), 0);
    address.length = ip_bits(&address.ip);
    assert_int_equal(sorted_put(addresses, &address), 0);
    return sorted_find(addresses, &address);
}

static inline void put_pattern(string_list *patterns, const char *pattern)
{
    assert_int_equal(vec_push(patterns, strdup(pattern)), 0);
}

static inline void clear_patterns(string_list *patterns)
{
    vec_each(char *, pattern, patterns)
        free(*pattern);
    patterns->count = 0;
}

/* A route by an interface to a network; NULL: to other routers. */
static inline void put_way(struct sorted *paths, uint32_t ifindex, const char *net)
{
    struct link_path path = { .ifindex = ifindex };
    if (net)
        assert_int_equal(prefix_parse(net, &path.net), 0);
    assert_int_equal(sorted_put(paths, &path), 0);
}
