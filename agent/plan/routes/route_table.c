// SPDX-License-Identifier: Apache-2.0
/*
 * Kernel routes and rules as values: order, ownership, text and difference.
 *
 * The difference is determined per slot (table, prefix, metric), since this is the kernel's key for
 * replacing and refusing routes. Usually a slot has one route; but with `append` it may have
 * several, ours and foreign ones, and a replace changes the first of them. So a slot is written
 * only if it has no foreign route, and surplus routes of ours are deleted before the replace, which
 * then changes the only one left. An outdated route of ours beside a foreign one can only be
 * deleted: it would announce something that is no longer wanted.
 *
 * Rules have no replace, and a delete matches neither "not" nor, if the request has no interface,
 * the interface (seen on 6.18; the protocol number is compared). New rules are therefore added
 * first, and the kernel, which searches in order of age, deletes the old one.
 */
#include "plan/routes/route_table.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"

int route_slot_cmp(const void *a, const void *b)
{
    const struct route *left = a, *right = b;
    int r = CMP(left->table, right->table);
    if (!r)
        r = prefix_cmp(&left->prefix, &right->prefix);
    return r ? r : CMP(left->metric, right->metric);
}

int route_cmp(const void *a, const void *b)
{
    const struct route *left = a, *right = b;
    int r = route_slot_cmp(a, b);
    if (!r)
        r = CMP(left->protocol, right->protocol);
    if (!r)
        r = CMP(left->type, right->type);
    if (!r)
        r = CMP(left->ifindex, right->ifindex);
    if (!r)
        r = ip_cmp(&left->gateway, &right->gateway);
    return r ? r : ip_cmp(&left->source, &right->source);
}

int rule_cmp(const void *a, const void *b)
{
    const struct rule *left = a, *right = b;
    int r = CMP(left->family, right->family);
    if (!r)
        r = CMP(left->priority, right->priority);
    if (!r)
        r = CMP(left->table, right->table);
    if (!r)
        r = CMP(left->protocol, right->protocol);
    if (!r)
        r = CMP(left->invert, right->invert);
    if (!r)
        r = strncmp(left->iif, right->iif, sizeof(left->iif));
    return r ? r : CMP(left->other, right->other);
}

/* To another node's block by its Node's address; a pod's route, of that number too, has no gateway.
 */
static bool is_direct(const struct route *route)
{
    return route->table == ROUTE_TABLE_MAIN && route->protocol == ROUTE_PROTOCOL_BLOCK &&
           route->type == RTN_UNICAST && route->gateway.family != IP_NONE;
}

bool route_is_ours(const struct route *route, uint32_t export_table)
{
    return ours_is_route(route->table, route->protocol, export_table) || is_direct(route);
}

bool rule_is_ours(const struct rule *rule)
{
    return ours_is_rule(rule->protocol) && !rule->other;
}

bool rule_is_standard(const struct rule *rule)
{
    static const struct {
        uint32_t priority, table;
    } standard[] = { { 0, RT_TABLE_LOCAL }, { 32766, RT_TABLE_MAIN }, { 32767, RT_TABLE_DEFAULT } };
    for (size_t i = 0; i < ARRAY_SIZE(standard); i++)
        if (rule->priority == standard[i].priority && rule->table == standard[i].table)
            return !rule->invert && !rule->other && rule->iif[0] == 0;
    return false;
}

/* The names of routing daemons in /etc/iproute2/rt_protos; our own numbers have none. */
static const char *protocol_name(uint8_t protocol, char buffer[static 4])
{
    switch (protocol) {
    case RTPROT_UNSPEC:
        return "unspec";
    case RTPROT_KERNEL:
        return "kernel";
    case RTPROT_BOOT:
        return "boot";
    case RTPROT_STATIC:
        return "static";
    case RTPROT_RA:
        return "ra";
    case RTPROT_ZEBRA:
        return "zebra";
    case RTPROT_BIRD:
        return "bird";
    case RTPROT_DHCP:
        return "dhcp";
    case RTPROT_BGP:
        return "bgp";
    case RTPROT_OSPF:
        return "ospf";
    default:
        snprintf(buffer, 4, "%u", protocol);
        return buffer;
    }
}

/* With a trailing blank; `ip` omits the usual type. */
static const char *type_name(uint8_t type)
{
    static const char *const names[] = {
        [RTN_UNSPEC] = "none ",
        [RTN_UNICAST] = "",
        [RTN_LOCAL] = "local ",
        [RTN_BROADCAST] = "broadcast ",
        [RTN_ANYCAST] = "anycast ",
        [RTN_MULTICAST] = "multicast ",
        [RTN_BLACKHOLE] = "blackhole ",
        [RTN_UNREACHABLE] = "unreachable ",
        [RTN_PROHIBIT] = "prohibit ",
        [RTN_THROW] = "throw ",
        [RTN_NAT] = "nat ",
        [RTN_XRESOLVE] = "xresolve ",
    };
    return type < ARRAY_SIZE(names) ? names[type] : "unknown ";
}

/* The family's default metric is omitted, so that both families have the same text. */
const char *route_str_via(const struct route *route, const char *device,
                          char buffer[static ROUTE_STRLEN])
{
    char prefix[PREFIX_STRLEN], protocol[4], source[IP_STRLEN], via[IP_STRLEN], metric[24] = "";
    bool v4 = route->prefix.ip.family == IP_V4, has_source = route->source.family != IP_NONE;
    bool has_gateway = route->gateway.family != IP_NONE;

    if (route->metric != (v4 ? ROUTE_METRIC_V4 : ROUTE_METRIC_V6))
        snprintf(metric, sizeof(metric), " metric %u", route->metric);
    snprintf(buffer, ROUTE_STRLEN, "%s%s%s%s%s%.16s proto %s%s%s%s", type_name(route->type),
             prefix_str(&route->prefix, prefix), has_gateway ? " via " : "",
             has_gateway ? ip_str(&route->gateway, via) : "", *device ? " dev " : "", device,
             protocol_name(route->protocol, protocol), has_source ? " src " : "",
             has_source ? ip_str(&route->source, source) : "", metric);
    return buffer;
}

/* An interface is written as by `ip` when it can't resolve the name: "if5". */
const char *route_str(const struct route *route, char buffer[static ROUTE_STRLEN])
{
    char device[16] = "";
    if (route->ifindex)
        snprintf(device, sizeof(device), "if%u", route->ifindex);
    return route_str_via(route, device, buffer);
}

static const char *table_name(uint32_t table, char buffer[static 12])
{
    switch (table) {
    case RT_TABLE_DEFAULT:
        return "default";
    case RT_TABLE_MAIN:
        return "main";
    case RT_TABLE_LOCAL:
        return "local";
    default:
        snprintf(buffer, 12, "%u", table);
        return buffer;
    }
}

const char *rule_str(const struct rule *rule, char buffer[static ROUTE_STRLEN])
{
    char table[12], protocol[4], iif[sizeof(rule->iif) + 8] = "";

    if (rule->iif[0])
        snprintf(iif, sizeof(iif), " iif %.*s", (int)sizeof(rule->iif), rule->iif);
    snprintf(buffer, ROUTE_STRLEN, "%u: %sfrom all%s lookup %s proto %s (IPv%u%s)", rule->priority,
             rule->invert ? "not " : "", iif, table_name(rule->table, table),
             protocol_name(rule->protocol, protocol), rule->family,
             rule->other ? ", and more" : "");
    return buffer;
}

/* The wanted route of one slot, and the existing ones. */
struct slot {
    const struct route *want; /* NULL: nothing */
    const struct route *have;
    size_t have_count;
};

/* Takes the next slot from the two arrays. */
static struct slot next_slot(const struct route **want, const struct route *want_end,
                             const struct route **have, const struct route *have_end)
{
    int order = *want == want_end ? 1 : *have == have_end ? -1 : route_slot_cmp(*want, *have);
    struct slot slot = { 0 };
    if (order <= 0)
        slot.want = (*want)++;
    if (order < 0)
        return slot;
    slot.have = *have;
    while (*have < have_end && route_slot_cmp(slot.have, *have) == 0)
        (*have)++;
    slot.have_count = (size_t)(*have - slot.have);
    return slot;
}

static int list_foreign(const struct slot *slot, uint32_t export_table, struct route_diff *diff)
{
    for (size_t i = 0; i < slot->have_count; i++) {
        const struct route *route = &slot->have[i];
        if (route_is_ours(route, export_table) || !ours_is_table(route->table, export_table))
            continue;
        if (vec_push(&diff->foreign, *route) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Deletes our routes except `keep`. */
static int delete_ours(const struct slot *slot, const struct route *keep, uint32_t export_table,
                       struct route_diff *diff)
{
    for (size_t i = 0; i < slot->have_count; i++) {
        const struct route *route = &slot->have[i];
        if (route == keep || !route_is_ours(route, export_table))
            continue;
        if (vec_push(&diff->ops, (struct route_op){ OP_DELETE, *route }) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int diff_slot(const struct slot *slot, uint32_t export_table, bool may_remove,
                     struct route_diff *diff)
{
    const struct route *equal = NULL, *last = NULL; /* of ours */
    bool foreign = false;
    for (size_t i = 0; i < slot->have_count; i++) {
        const struct route *route = &slot->have[i];
        if (slot->want && route_cmp(route, slot->want) == 0)
            equal = route;
        if (route_is_ours(route, export_table))
            last = route;
        else
            foreign = true;
    }
    bool blocked = slot->want && !equal && foreign;
    bool write = slot->want && !equal && !foreign;

    int r = list_foreign(slot, export_table, diff);
    if (r < 0)
        return r;
    r = may_remove ? delete_ours(slot, write ? last : equal, export_table, diff) : 0;
    if (r < 0)
        return r;
    if (blocked)
        return vec_push(&diff->blocked, *slot->want);
    return write
               ? vec_push(&diff->ops, (struct route_op){ last ? OP_REPLACE : OP_ADD, *slot->want })
               : 0;
}

int diff_routes(const struct route *want, size_t want_count, const struct route *have,
                size_t have_count, uint32_t export_table, bool may_remove,
                struct route_diff *ret_diff)
{
    CLEANUP(route_diff_done) struct route_diff diff = { 0 };
    const struct route *want_end = want_count ? want + want_count : want;
    const struct route *have_end = have_count ? have + have_count : have;

    while (want < want_end || have < have_end) {
        struct slot slot = next_slot(&want, want_end, &have, have_end);
        int r = diff_slot(&slot, export_table, may_remove, &diff);
        if (r < 0)
            return r;
    }
    *ret_diff = TAKE_STRUCT(diff);
    return 0;
}

void route_diff_done(struct route_diff *diff)
{
    vec_done(&diff->ops);
    vec_done(&diff->blocked);
    vec_done(&diff->foreign);
}

/* Appends an operation for each of our rules in `rules` that `others` lacks. */
static int rules_missing(const struct rule *rules, size_t count, const struct rule *others,
                         size_t other_count, enum op_kind kind, rule_op_list *ops)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        while (at < other_count && rule_cmp(&others[at], &rules[i]) < 0)
            at++;
        if (at < other_count && rule_cmp(&others[at], &rules[i]) == 0)
            continue;
        if (!rule_is_ours(&rules[i]))
            continue;
        if (vec_push(ops, (struct rule_op){ kind, rules[i] }) < 0)
            return -ENOMEM;
    }
    return 0;
}

int diff_rules(const struct rule *want, size_t want_count, const struct rule *have,
               size_t have_count, bool may_remove, rule_op_list *ret_ops)
{
    AUTOVEC rule_op_list ops = { 0 };
    int r = rules_missing(want, want_count, have, have_count, OP_ADD, &ops);
    if (r < 0)
        return r;
    r = may_remove ? rules_missing(have, have_count, want, want_count, OP_DELETE, &ops) : 0;
    if (r < 0)
        return r;
    *ret_ops = TAKE_STRUCT(ops);
    return 0;
}
