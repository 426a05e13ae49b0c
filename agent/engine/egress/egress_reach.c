// SPDX-License-Identifier: Apache-2.0
/*
 * Gateways without a route; see egress_reach.h. The kernel is queried for each gateway by itself,
 * with rules and all tables, when a route was added or deleted that may lead to one of them
 * (kernel_watch()), or when links and addresses changed, because routes that disappear with those
 * are not notified. There are few gateways, so this costs a few system calls.
 */
#include "engine/egress/egress_reach.h"

#include "apply/lookup.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"
#include "faults/egress.h"
#include "faults/raise.h"

void egress_reach_done(struct egress_reach *reach)
{
    vec_done(&reach->gateways);
    vec_done(&reach->away);
    vec_done(&reach->peers);
}

static bool is_away(const struct egress_reach *reach, const struct ip *address)
{
    return vec_find(&reach->away, address, ip_item_cmp);
}

/* Logs one line for each gateway that becomes unreachable or reachable. */
static void tell(const struct egress_reach *reach, const struct egress_reach *fresh)
{
    char text[IP_STRLEN];
    vec_each(const struct ip, ip, &fresh->away) {
        if (!is_away(reach, ip))
            log_notice("gateway %s: no route leads there any more: its flows begin anew elsewhere",
                       ip_str(ip, text));
    }
    vec_each(const struct ip, ip, &reach->away) {
        if (!is_away(fresh, ip) && vec_find(&reach->gateways, ip, ip_item_cmp))
            log_notice("gateway %s: a route leads there again", ip_str(ip, text));
    }
}

static bool is_peer(const struct kernel *kernel, const struct ip *ip)
{
    const uint8_t bits = ip->family == IP_V4 ? 32 : 128;
    sorted_each(const struct link_path, path, kernel_paths(kernel)) {
        if (path->kind != PATH_PLAIN || path->net.length != bits || !ip_equal(&path->net.ip, ip))
            continue;
        const struct link *link = link_find(kernel_links(kernel), path->ifindex);
        if (link && link->peer_away)
            return true;
    }
    return false;
}

static bool same_addresses(const struct ip *a, size_t a_count, const struct ip *b, size_t b_count)
{
    bool same = a_count == b_count;
    for (size_t i = 0; same && i < a_count; i++)
        same = ip_equal(&a[i], &b[i]);
    return same;
}

/* Returns 1 if the result changed for any gateway, 0, or -errno with nothing changed. */
static int ask(struct egress_reach *reach, struct kernel *kernel)
{
    CLEANUP(egress_reach_done) struct egress_reach fresh = { 0 };
    vec_each(const struct ip, ip, &reach->gateways) {
        bool reaches = false;
        int r = route_reaches(kernel_requests(kernel), ip, &reaches);
        if (r < 0)
            return r;
        if (!reaches)
            r = vec_push(&fresh.away, *ip);
        if (r < 0)
            return r;
        if (is_peer(kernel, ip))
            r = vec_push(&fresh.peers, *ip);
        if (r < 0)
            return r;
    }
    bool same =
        same_addresses(fresh.away.items, fresh.away.count, reach->away.items, reach->away.count) &&
        same_addresses(fresh.peers.items, fresh.peers.count, reach->peers.items,
                       reach->peers.count);
    tell(reach, &fresh);
    vec_move(&reach->away, &fresh.away);
    vec_move(&reach->peers, &fresh.peers);
    reach->stale = false;
    return !same;
}

int egress_reach_look(struct egress_reach *reach, struct kernel *kernel)
{
    return reach->stale ? ask(reach, kernel) : 0;
}

static int take_over(struct egress_reach *reach, const struct egress_plan *plan)
{
    CLEANUP(egress_reach_done) struct egress_reach fresh = { 0 };
    sorted_each(struct egress_set *const, set, &plan->sets) {
        vec_each(const struct egress_gateway, gateway, &(*set)->gateways) {
            int r = vec_push(&fresh.gateways, gateway->address);
            if (r < 0)
                return r;
        }
    }
    vec_sort(&fresh.gateways, ip_item_cmp);
    size_t count = 0;
    vec_each(const struct ip, ip, &fresh.gateways) {
        if (count == 0 || !ip_equal(&fresh.gateways.items[count - 1], ip))
            fresh.gateways.items[count++] = *ip;
    }
    fresh.gateways.count = count;
    vec_move(&reach->gateways, &fresh.gateways);
    return 0;
}

static void mark_set(const struct egress_reach *reach, struct egress_set *set,
                     struct faults *faults)
{
    AUTOFREE char *place = text_format("Egress %s", set->egress);
    size_t away = 0;
    char text[IP_STRLEN];
    vec_each(struct egress_gateway, gateway, &set->gateways) {
        gateway->peer = vec_find(&reach->peers, &gateway->address, ip_item_cmp);
        if (!is_away(reach, &gateway->address))
            continue;
        gateway->state = EGRESS_AWAY;
        away++;
        fault_raise(faults, place, egress_gateway_unreachable,
                    .gateway = ip_str(&gateway->address, text));
    }
    if (away && away == set->gateways.count)
        fault_raise(faults, place, egress_gateways_unreachable,
                    .family = set->family == IP_V4 ? "4" : "6");
}

int egress_reach_mark(struct egress_reach *reach, struct kernel *kernel,
                      const struct egress_plan *plan, struct faults *faults)
{
    int r = take_over(reach, plan);
    if (r < 0)
        return r;
    r = kernel_watch(kernel, reach->gateways.items, reach->gateways.count);
    if (r < 0)
        return r;
    r = ask(reach, kernel);
    if (r < 0)
        return r;
    sorted_each(struct egress_set *const, set, &plan->sets)
        mark_set(reach, *set, faults);
    return 0;
}
