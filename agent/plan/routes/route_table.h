/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel routes and rules as plain values: what the planner wants, what the kernel has, and the
 * difference of the two. Nothing here touches the kernel.
 *
 * Identity. The kernel keeps one of our routes per slot: table, prefix and metric. The metric is
 * constant, so a change of meaning (the protocol number) is a replacement in place. Ownership. By
 * the protocol number: see base/ours.h. Other routes are foreign: they are listed, and never
 * changed, deleted or replaced.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/ours.h"
#include "base/sorted.h"
#include "base/vec.h"

/* The metric of a route that is added without one: 0 for IPv4, 1024 for IPv6. */
#define ROUTE_METRIC_V4       UINT32_C(0)
#define ROUTE_METRIC_V6       UINT32_C(1024)
/* Lower than the metrics of routing daemons; IPv6 has no metric 0. */
#define ROUTE_METRIC_FIRST_V6 UINT32_C(1)
/* Above every metric in use (0xff000000 + 1024): each real route has precedence over the guard. */
#define ROUTE_METRIC_GUARD    UINT32_C(4278198272)

struct route {
    uint32_t table;
    struct prefix prefix;
    uint32_t metric;
    uint8_t protocol;  /* rtm_protocol */
    uint8_t type;      /* RTN_BLACKHOLE, RTN_UNREACHABLE, ... of linux/rtnetlink.h */
    uint32_t ifindex;  /* outgoing interface; 0: none */
    struct ip gateway; /* next router, of the same family; IP_NONE: none */
    struct ip source;  /* preferred source address (RTA_PREFSRC); IP_NONE: none */
};

struct rule {
    uint8_t family; /* enum ip_family */
    uint32_t priority;
    uint32_t table;
    uint8_t protocol; /* FRA_PROTOCOL */
    bool invert;      /* "not" */
    char iif[16];     /* "" = any */
    bool other;       /* has other selectors or another action: never ours */
};

/* Total order: table, prefix, metric, then protocol, type, ifindex, gateway, source. */
int route_cmp(const void *a, const void *b);
/* Order of slots alone: table, prefix, metric. */
int route_slot_cmp(const void *a, const void *b);
int rule_cmp(const void *a, const void *b);

/*
 * True if it is ours by base/ours.h, or if it is a direct route; `export_table` is routes.table.
 */
bool route_is_ours(const struct route *route, uint32_t export_table);
bool rule_is_ours(const struct rule *rule);
/* True for the three default rules of a network namespace: local, main, default. */
bool rule_is_standard(const struct rule *rule);

enum { ROUTE_STRLEN = 256 };

/* As `ip route` prints it: "blackhole 10.224.0.0/27 proto 30"; the table is not part of it. */
const char *route_str(const struct route *route, char buffer[static ROUTE_STRLEN]);
/* The same, with the name of its interface: "10.0.0.1 dev svc0 proto 33 src 192.0.2.1". */
const char *route_str_via(const struct route *route, const char *device,
                          char buffer[static ROUTE_STRLEN]);
/* "1990: not from all iif lo lookup 120 proto 33 (IPv6)": both families have the same rules. */
const char *rule_str(const struct rule *rule, char buffer[static ROUTE_STRLEN]);

enum op_kind { OP_ADD, OP_REPLACE, OP_DELETE };

struct route_op {
    enum op_kind kind;
    struct route route; /* to be added, or deleted */
};

struct rule_op {
    enum op_kind kind; /* never OP_REPLACE: rules have no replace */
    struct rule rule;
};

struct route_diff {
    VEC(struct route_op) ops;  /* in order of slot */
    VEC(struct route) blocked; /* wanted, but a foreign route is in the slot */
    VEC(struct route) foreign; /* foreign, in a table of ours */
};

/*
 * Compares two arrays sorted by route_cmp() in one merge. `want` has at most one route per slot.
 * With `may_remove` false nothing is deleted (a source has not synced). Returns 0 or -ENOMEM.
 */
int diff_routes(const struct route *want, size_t want_count, const struct route *have,
                size_t have_count, uint32_t export_table, bool may_remove,
                struct route_diff *ret_diff);
void route_diff_done(struct route_diff *diff);

typedef VEC(struct rule_op) rule_op_list;

/* The same for rules; `have` may contain foreign rules, which are left unchanged. */
int diff_rules(const struct rule *want, size_t want_count, const struct rule *have,
               size_t have_count, bool may_remove, rule_op_list *ret_ops);
