/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of this room share: each test runs against the real kernel in a network namespace
 * of its own, with the daemon's `struct kernel` and the socket of somebody else.
 */
#pragma once

#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply/mirror/kernel.h"
#include "apply/mirror/links.h"
#include "apply/mirror/write.h"
#include "apply/netlink/nl.h"
#include "base/macro.h"
#include "cmocka_all.h"

struct lab {
    struct kernel *kernel;
    struct nl_socket *other; /* another writer */
};

/* Says so in TAP and returns true if this process can't make namespaces. */
static inline bool lab_missing(void)
{
    if (unshare(CLONE_NEWNET) == 0)
        return false;
    printf("1..0 # SKIP no privilege to make network namespaces\n");
    return true;
}

/* The mirror as agentd opens it. Returns 0 or -errno. */
static inline int open_mirror(uint32_t export_table, struct kernel **ret_kernel)
{
    const struct kernel_scope scope = scope_of_node(export_table);
    return kernel_open(&scope, NL_HERE, ret_kernel);
}

static inline int lab_open(void **state)
{
    struct lab *lab = calloc(1, sizeof(*lab));
    if (!lab || unshare(CLONE_NEWNET) < 0 || system("ip link set lo up") != 0 ||
        open_mirror(119, &lab->kernel) < 0 || nl_open(&lab->other) < 0)
        return -1;
    *state = lab;
    return 0;
}

static inline int lab_close(void **state)
{
    struct lab *lab = *state;
    kernel_close(lab->kernel);
    nl_close(lab->other);
    free(lab);
    return 0;
}

static inline void *make_netns(void *fd)
{
    if (unshare(CLONE_NEWNET) == 0)
        *(int *)fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    return NULL;
}

/* A further namespace, which lasts as long as its descriptor, and whatever else holds it. */
static inline int another_netns(void)
{
    int fd = -1;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, make_netns, &fd), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(fd >= 0);
    return fd;
}

/* Waits until something is notified to the mirror, and takes it in. */
static inline void await_news(struct kernel *kernel)
{
    struct pollfd waited = { .fd = kernel_fd(kernel), .events = POLLIN };
    assert_int_equal(poll(&waited, 1, 60000), 1);
    assert_int_equal(kernel_read(kernel), 0);
}

#define run(command) assert_int_equal(system(command), 0)

static inline struct route blackhole(uint32_t table, const char *prefix, uint8_t protocol)
{
    struct route route = { .table = table, .protocol = protocol, .type = RTN_BLACKHOLE };
    assert_int_equal(prefix_parse(prefix, &route.prefix), 0);
    route.metric = route.prefix.ip.family == IP_V4 ? ROUTE_METRIC_V4 : ROUTE_METRIC_V6;
    return route;
}

static inline struct op_result apply_one(struct lab *lab, enum op_kind kind, struct route route)
{
    struct op_result result;
    struct route_op op = { kind, route };
    assert_int_equal(kernel_apply_routes(lab->kernel, &op, 1, &result), 0);
    assert_int_equal(kernel_read(lab->kernel), 0);
    return result;
}

static inline void apply_good(struct lab *lab, enum op_kind kind, struct route route)
{
    struct op_result result = apply_one(lab, kind, route);
    if (result.error)
        print_message("# %d %s\n", result.error, result.text);
    assert_int_equal(result.error, 0);
}

/* Somebody else does it; the mirror has not heard of it yet. */
static inline void other_does(struct lab *lab, enum op_kind kind, struct route route)
{
    struct op_result result;
    struct route_op op = { kind, route };
    assert_int_equal(write_routes(lab->other, &op, 1, &result), 0);
    assert_int_equal(result.error, 0);
}

static inline bool mirrored(struct lab *lab, struct route route)
{
    return sorted_find(kernel_routes(lab->kernel), &route) != NULL;
}

static inline void expect_equal_tables(const struct sorted *a, const struct sorted *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        assert_int_equal(a->compare(sorted_at(a, i), sorted_at(b, i)), 0);
}

static inline bool tables_equal(const struct sorted *a, const struct sorted *b)
{
    bool equal = a->count == b->count;
    for (size_t i = 0; equal && i < a->count; i++)
        equal = a->compare(sorted_at(a, i), sorted_at(b, i)) == 0;
    return equal;
}

/*
 * The mirror is what a newly opened one has. The kernel ends the trial of an IPv6 address, one
 * without a trial included, and tells of carriers, when it finds the time (linkwatch: within a
 * second): until both have heard of it, they are read again.
 */
static inline void expect_mirror_is_true(struct lab *lab)
{
    struct kernel *fresh = NULL;
    for (int attempt = 0; attempt < 10000; attempt++) {
        kernel_close(fresh);
        assert_int_equal(open_mirror(119, &fresh), 0);
        assert_int_equal(kernel_read(lab->kernel), 0);
        if (tables_equal(kernel_link_addresses(lab->kernel), kernel_link_addresses(fresh)) &&
            links_equal(kernel_links(lab->kernel), kernel_links(fresh)))
            break;
    }
    expect_equal_tables(kernel_routes(lab->kernel), kernel_routes(fresh));
    expect_equal_tables(kernel_rules(lab->kernel), kernel_rules(fresh));
    expect_equal_tables(kernel_local_prefixes(lab->kernel), kernel_local_prefixes(fresh));
    expect_equal_tables(kernel_local_networks(lab->kernel), kernel_local_networks(fresh));
    expect_equal_tables(kernel_link_addresses(lab->kernel), kernel_link_addresses(fresh));
    assert_true(links_equal(kernel_links(lab->kernel), kernel_links(fresh)));
    kernel_close(fresh);
}
