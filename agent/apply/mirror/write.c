// SPDX-License-Identifier: Apache-2.0
/*
 * Writes routes and rules to the kernel, called by kernel.c.
 *
 * Each request is built so that it can't affect foreign objects. Adding is exclusive: where the
 * slot has any route, the kernel refuses with EEXIST. Replacing requires a route in the slot; the
 * planner ensures that it is ours. Deleting specifies everything that the kernel compares:
 *
 * - IPv4 compares table, prefix, TOS, type, protocol, device, preferred source, and the metric
 *   unless it is 0 (then the route with the lowest metric is deleted first), the gateway where one
 *   is specified; RT_SCOPE_NOWHERE matches any scope.
 * - IPv6 compares table, prefix, metric, protocol, device, gateway likewise, but neither type nor
 *   source. The device of a route that forwards nothing is the loopback, so specifying it excludes
 *   a forwarding route of the same protocol and slot.
 * - Rules compare everything we set except "not" (seen on 6.18).
 */
#include "apply/mirror/write.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "apply/mirror/decode.h"
#include "base/macro.h"

enum {
    CHUNK = 32,           /* requests that are built before they are sent */
    LOOPBACK_IFINDEX = 1, /* in every network namespace */
};

static uint8_t address_family(uint8_t family)
{
    return family == IP_V4 ? AF_INET : AF_INET6;
}

/* The table number for the fixed part; the attribute has the whole number. */
static uint8_t short_table(uint32_t table)
{
    return table <= UINT8_MAX ? (uint8_t)table : RT_TABLE_UNSPEC;
}

static uint16_t flags_of(enum op_kind kind)
{
    switch (kind) {
    case OP_ADD:
        return NLM_F_CREATE | NLM_F_EXCL;
    case OP_REPLACE:
        return NLM_F_REPLACE;
    case OP_DELETE:
        break;
    }
    return 0;
}

/* IPv4: an on-link route, without a gateway, has the link's scope. */
static uint8_t scope_of(const struct route_op *op)
{
    if (op->kind == OP_DELETE)
        return RT_SCOPE_NOWHERE;
    return op->route.ifindex && op->route.gateway.family == IP_NONE &&
                   op->route.prefix.ip.family == IP_V4
               ? RT_SCOPE_LINK
               : RT_SCOPE_UNIVERSE;
}

static void build_route(const struct route_op *op, struct nl_request *request)
{
    const struct route *route = &op->route;
    const bool v4 = route->prefix.ip.family == IP_V4, remove = op->kind == OP_DELETE;
    struct rtmsg fixed = {
        .rtm_family = address_family(route->prefix.ip.family),
        .rtm_dst_len = route->prefix.length,
        .rtm_table = short_table(route->table),
        .rtm_protocol = route->protocol,
        .rtm_scope = scope_of(op),
        .rtm_type = route->type,
    };
    nl_begin(request, remove ? RTM_DELROUTE : RTM_NEWROUTE, flags_of(op->kind), &fixed,
             sizeof(fixed));
    nl_put_ip(request, RTA_DST, &route->prefix.ip);
    nl_put_u32(request, RTA_TABLE, route->table);
    nl_put_u32(request, RTA_PRIORITY, route->metric);
    if (route->ifindex)
        nl_put_u32(request, RTA_OIF, route->ifindex);
    else if (remove && !v4 && !route_forwards(route))
        nl_put_u32(request, RTA_OIF, LOOPBACK_IFINDEX);
    if (route->gateway.family != IP_NONE)
        nl_put_ip(request, RTA_GATEWAY, &route->gateway);
    if (route->source.family != IP_NONE)
        nl_put_ip(request, RTA_PREFSRC, &route->source);
}

static void build_rule(const struct rule_op *op, struct nl_request *request)
{
    const struct rule *rule = &op->rule;
    struct fib_rule_hdr fixed = {
        .family = address_family(rule->family),
        .table = short_table(rule->table),
        .action = FR_ACT_TO_TBL,
        .flags = rule->invert ? FIB_RULE_INVERT : 0,
    };
    nl_begin(request, op->kind == OP_DELETE ? RTM_DELRULE : RTM_NEWRULE, flags_of(op->kind), &fixed,
             sizeof(fixed));
    nl_put_u32(request, FRA_TABLE, rule->table);
    nl_put_u32(request, FRA_PRIORITY, rule->priority);
    nl_put_u8(request, FRA_PROTOCOL, rule->protocol);
    if (rule->iif[0])
        nl_put_string(request, FRA_IIFNAME, rule->iif);
}

/* `gone` is the error that the kernel returns if there is nothing to delete. */
static void report(enum op_kind kind, int gone, const struct nl_result *from, struct op_result *to)
{
    *to = (struct op_result){ .error = from->error };
    if (kind == OP_DELETE && from->error == gone)
        to->error = 0;
    else
        memcpy(to->text, from->text, MIN(sizeof(to->text), sizeof(from->text)));
}

int write_routes(struct nl_socket *socket, const struct route_op *ops, size_t count,
                 struct op_result *results)
{
    struct nl_request requests[CHUNK];
    struct nl_result answers[CHUNK];
    for (size_t done = 0; done < count;) {
        size_t some = MIN(count - done, (size_t)CHUNK);
        for (size_t i = 0; i < some; i++)
            build_route(&ops[done + i], &requests[i]);
        int r = nl_batch(socket, requests, some, answers);
        if (r < 0)
            return r;
        for (size_t i = 0; i < some; i++)
            report(ops[done + i].kind, -ESRCH, &answers[i], &results[done + i]);
        done += some;
    }
    return 0;
}

int write_rules(struct nl_socket *socket, const struct rule_op *ops, size_t count,
                struct op_result *results)
{
    for (size_t i = 0; i < count; i++) {
        struct nl_request request;
        struct nl_result answer;
        build_rule(&ops[i], &request);
        int r = nl_batch(socket, &request, 1, &answer);
        if (r < 0)
            return r;
        report(ops[i].kind, -ENOENT, &answer, &results[i]);
    }
    return 0;
}
