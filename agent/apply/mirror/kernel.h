/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's routes, rules and addresses: a mirror that changes only by messages of the kernel,
 * and the functions that write routes and rules.
 *
 * The mirror is filled by dumps and updated by notifications (RTNLGRP_*_ROUTE, _RULE, _IFADDR,
 * _LINK). Our own changes arrive by the same path: the kernel queues a notification before it
 * acknowledges the request, so that after kernel_apply_*() and kernel_read() the mirror is what the
 * kernel has.
 *
 * The mirror covers the scope with which it is opened (scope.h); everything else stays empty and is
 * not reported. Several mirrors can exist at the same time, each with its own sockets: each mirror
 * sees the changes of another one as foreign changes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/mirror/scope.h"
#include "apply/netlink/nl.h"
#include "apply/op_result.h"
#include "base/cleanup.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "plan/link_table.h"
#include "plan/routes/route_table.h"

struct kernel;

/*
 * Opens the sockets in the network namespace of the descriptor `netns` (NL_HERE: the caller's), and
 * fills the mirror. The scope is copied. Returns 0 or -errno.
 */
int kernel_open(const struct kernel_scope *scope, int netns, struct kernel **ret_kernel);
void kernel_close(struct kernel *kernel);
DEFINE_CLEANUP(struct kernel *, kernel_close);

/* The notification socket, to be polled for input. */
int kernel_fd(const struct kernel *kernel);

/* A network to which the routes have changed. */
struct path_change {
    struct prefix net;
    enum way_fate {
        WAY_CAME,
        PATH_WENT,
        PATH_LINK_GONE, /* with its outgoing interface */
    } fate;
};
enum {
    PATH_CHANGES_MAX = 256,
    SETTINGS_OF_ALL = 0, /* instead of an interface: any interface, or the namespace's settings */
};

/* Changes by other programs to mirrored objects since the last kernel_events_done(). */
struct kernel_events {
    VEC(struct route)
    routes;     /* added, deleted or changed by another program; duplicates possible */
    bool rules; /* a rule of ours changed */
    bool other_rules;
    bool addresses; /* some interface address changed */
    bool links; /* some interface changed, or the networks routed by it, or any of its addresses; or
                   a filter of a clsact qdisc was deleted, or added before ours; or forwarding
                   changed */
    VEC(struct path_change) paths; /* with scope.paths: of any table, by others; no order */
    VEC(uint32_t) settings; /* interfaces of which forwarding, rp_filter or proxy_neigh changed */
    bool many_paths;        /* there were more, or a route to other routers has changed */
    bool watched;    /* a route that may lead to an address of kernel_watch() was added, deleted or
                        changed */
    bool resynced;   /* a dump found routes other than notified, or notifications were
                        lost: everything may have changed */
    uint32_t writer; /* netlink port id of the last foreign change to one of our routes
                        or rules; usually a process id; 0: none or unknown */
};

/*
 * Reads all queued notifications without blocking. If some were lost (ENOBUFS), everything is
 * dumped. Returns 0 or -errno (the mirror is then doubtful; call kernel_resync()).
 */
int kernel_read(struct kernel *kernel);

const struct kernel_events *kernel_events(const struct kernel *kernel);
void kernel_events_done(struct kernel *kernel);

/* Reads the queued notifications, then dumps everything again. Returns 0 or -errno with the old
 * mirror. */
int kernel_resync(struct kernel *kernel);

/* The mirror: struct route, struct rule, struct prefix. Borrowed until the next call. */
const struct sorted *kernel_routes(const struct kernel *kernel);
const struct sorted *kernel_rules(const struct kernel *kernel);
/*
 * Each interface address as a host prefix and with its own length (the on-link network); not those
 * for which ip_is_special(): loopback, link-local.
 */
const struct sorted *kernel_local_prefixes(const struct kernel *kernel);
/* Of these, the on-link networks that are larger than a single address: a few. */
const struct sorted *kernel_local_networks(const struct kernel *kernel);
/* struct link by link_cmp(); struct link_address by link_address_cmp(). */
const struct sorted *kernel_links(const struct kernel *kernel);
const struct sorted *kernel_link_addresses(const struct kernel *kernel);
/* struct link_path by link_path_cmp(): notifications only add to it; deleted interfaces and
 * resyncs remove from it. */
const struct sorted *kernel_paths(const struct kernel *kernel);

/*
 * Makes events.watched report routes, in any table, to networks that contain one of these addresses
 * (struct ip, sorted; copied). Returns 0 or -ENOMEM.
 */
int kernel_watch(struct kernel *kernel, const struct ip *addresses, size_t count);
/* The socket for queries to the kernel (lookup.h), between two calls of these functions. */
struct nl_socket *kernel_requests(struct kernel *kernel);

/* Queries the kernel. Returns 0 or -errno (the socket failed). */
int kernel_default_sources(struct kernel *kernel, struct default_sources *ret_sources);

/*
 * Executes operations in order. A refused operation does not stop the others. Deleting a route that
 * does not exist (ESRCH) counts as success. `results` has room for `count`. Returns 0, or -errno
 * when the socket failed.
 */
int kernel_apply_routes(struct kernel *kernel, const struct route_op *ops, size_t count,
                        struct op_result *results);
int kernel_apply_rules(struct kernel *kernel, const struct rule_op *ops, size_t count,
                       struct op_result *results);
