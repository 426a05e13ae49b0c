// SPDX-License-Identifier: Apache-2.0
/*
 * The mirror of the kernel's tables, and the changes that other programs made to them.
 *
 * Two sockets: requests (dumps and writes) and notifications. Each notification has the port id of
 * the socket that requested the change; ours is the request socket's, opened first, so that its
 * port is our process id, as with other tools.
 *
 * Routes and links follow their notifications (replay.c, links.c). Rules and addresses are few and
 * change rarely: any change dumps them again, which also keeps a network that two interfaces share.
 * Some changes are not notified, and need a dump:
 *
 * - notifications lost, because our buffer was full (ENOBUFS);
 * - routes that the kernel deletes without a notification with a link, an address or a next hop
 *   object that they need (loss.h): guards that lead to svc0, and foreign ones;
 * - what replay.c finds doubtful, and any change while two of the kernel's routes are equal for us
 *   (an IPv6 replace among several can make such twins): one may be deleted, and the other kept.
 *
 * A dump starts with an empty queue. Notifications that arrive meanwhile are applied to its result;
 * a slot's last event is its final state, so applying an event twice does no harm.
 */
#include "apply/mirror/kernel.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>

#include "apply/mirror/decode.h"
#include "apply/mirror/dump.h"
#include "apply/mirror/links.h"
#include "apply/mirror/loss.h"
#include "apply/mirror/path_changes.h"
#include "apply/mirror/paths.h"
#include "apply/mirror/replay.h"
#include "apply/mirror/watch.h"
#include "apply/mirror/write.h"
#include "apply/netlink/nl.h"
#include "apply/settings.h"
#include "apply/source.h"
#include "base/macro.h"

enum { WRITE_CHUNK = 4096 };

/* Parts of the mirror for which notifications were incomplete. */
enum stale {
    STALE_ROUTES = 1 << 0,
    STALE_RULES = 1 << 1,
    STALE_ADDRESSES = 1 << 2,
    STALE_LINKS = 1 << 3,
    STALE_WAYS = 1 << 4,
    STALE_DEFAULTS = 1 << 5, /* of the ways */
};

static unsigned everything(const struct kernel_scope *scope)
{
    return (scope->route_count ? STALE_ROUTES : 0) | (scope->rules ? STALE_RULES : 0) |
           (scope->addresses ? STALE_ADDRESSES : 0) | (scope->links ? STALE_LINKS : 0) |
           (scope->paths ? STALE_WAYS : 0);
}

struct kernel {
    struct nl_socket *requests, *notifications;
    struct kernel_scope scope;
    struct sorted routes, rules, prefixes, networks, links, addresses, paths;
    struct sorted watched; /* struct ip */
    bool twins;            /* two routes of the kernel are one in the mirror */
    unsigned stale;        /* enum stale */

    struct kernel_events events;
    uint32_t writer_order; /* of the event that set events.writer */

    /* Events that kernel_read() has received and not yet processed. */
    route_event_list heard;
    loss_list losses;
    uint32_t order;
};

static void name_writer(struct kernel *kernel, uint32_t port, uint32_t order)
{
    if (port == 0 || order < kernel->writer_order)
        return;
    kernel->events.writer = port;
    kernel->writer_order = order;
}

static bool is_own(const struct kernel *kernel, uint32_t port)
{
    return port == nl_port_id(kernel->requests);
}

static int hear_route(struct kernel *kernel, const struct nlmsghdr *message)
{
    struct route_event event = {
        .port = message->nlmsg_pid,
        .order = kernel->order,
        .remove = message->nlmsg_type == RTM_DELROUTE,
        .replace = message->nlmsg_type == RTM_NEWROUTE && (message->nlmsg_flags & NLM_F_REPLACE),
    };
    if (!scope_may_have(&kernel->scope, message) || !decode_route(message, &event.route))
        return 0;
    /* If only a part of a table is in the scope, another route matters if it replaced one of it. */
    if (!scope_has_table(&kernel->scope, event.route.table))
        return 0;
    return vec_push(&kernel->heard, event);
}

static void hear_rule(struct kernel *kernel, const struct nlmsghdr *message)
{
    struct rule rule;
    if (!decode_rule(message, &rule))
        return;
    if (!rule_is_standard(&rule))
        kernel->stale |= STALE_RULES;
    if (is_own(kernel, message->nlmsg_pid))
        return;
    if (!rule_is_ours(&rule)) { /* also a standard rule that another program deletes */
        kernel->events.other_rules = true;
        kernel->events.many_paths |= kernel->scope.paths; /* it may reroute any packet */
        return;
    }
    kernel->events.rules = true;
    name_writer(kernel, message->nlmsg_pid, kernel->order);
}

static int hear_link(struct kernel *kernel, const struct nlmsghdr *message)
{
    struct link link;
    if (decode_link(message, &link)) {
        int noted =
            path_changes_of_link(&kernel->events, &kernel->paths, &kernel->links, message, &link);
        if (noted < 0)
            return noted;
        if (paths_may_move(&kernel->paths, &kernel->links, &link))
            kernel->stale |= STALE_DEFAULTS;
        if (message->nlmsg_type == RTM_DELLINK)
            paths_forget(&kernel->paths, link.ifindex);
    }
    int r = links_hear(&kernel->links, message);
    kernel->events.links |= r > 0;
    return MIN(r, 0);
}

static void hear_address(struct kernel *kernel, const struct nlmsghdr *message)
{
    const struct ifaddrmsg *fixed = mnl_nlmsg_get_payload(message);
    if (kernel->scope.ifindex && mnl_nlmsg_get_payload_len(message) >= sizeof(*fixed) &&
        fixed->ifa_index != kernel->scope.ifindex)
        return;
    kernel->stale |= STALE_ADDRESSES;
}

static int hear_path(struct kernel *kernel, const struct nlmsghdr *message)
{
    int r = kernel->scope.paths && message->nlmsg_type == RTM_NEWROUTE
                ? paths_hear(&kernel->paths, message)
                : 0;
    kernel->stale |= kernel->scope.paths && paths_may_end(message) ? STALE_DEFAULTS : 0;
    kernel->events.links |= r > 0;
    kernel->events.watched |= watch_hears(&kernel->watched, message);
    if (r < 0 || !kernel->scope.paths || is_own(kernel, message->nlmsg_pid))
        return MIN(r, 0); /* our routes lead to no endpoint */
    return path_changes_of_route(&kernel->events, message);
}

/* Some groups are received for the sake of routes alone: see scope_groups(). */
static int hear(const struct nlmsghdr *message, void *context)
{
    struct kernel *kernel = context;
    kernel->order++;
    int r = kernel->scope.route_count > 0 ? losses_hear(&kernel->losses, message) : 0;
    if (r < 0)
        return r;
    switch (message->nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        r = hear_path(kernel, message);
        return r < 0 ? r : hear_route(kernel, message);
    case RTM_NEWRULE:
    case RTM_DELRULE:
        hear_rule(kernel, message);
        return 0;
    case RTM_NEWADDR:
    case RTM_DELADDR:
        if (kernel->scope.addresses)
            hear_address(kernel, message);
        return 0;
    case RTM_NEWLINK:
    case RTM_DELLINK:
        return kernel->scope.links ? hear_link(kernel, message) : 0;
    case RTM_NEWTFILTER:
    case RTM_DELTFILTER:
    case RTM_DELQDISC:
        kernel->events.links |= links_filter_matters(message);
        return 0;
    case RTM_NEWNETCONF:
        return kernel->scope.links ? settings_hear(&kernel->events, message) : 0;
    default:
        return 0;
    }
}

/* Processes the received route events, and lists those of other programs. */
static int work_in(struct kernel *kernel)
{
    bool doubtful = false;
    int r = replay_routes(&kernel->routes, &kernel->heard, &kernel->scope, &doubtful);
    if (r < 0)
        return r;
    if (doubtful || (kernel->twins && kernel->heard.count > 0))
        kernel->stale |= STALE_ROUTES;
    vec_each(struct route_event, it, &kernel->heard) {
        if (is_own(kernel, it->port) || !scope_has_route(&kernel->scope, &it->route))
            continue;
        if (vec_push(&kernel->events.routes, it->route) < 0)
            return -ENOMEM;
        if (scope_is_own(&kernel->scope, &it->route))
            name_writer(kernel, it->port, it->order);
    }
    return 0;
}

/* Empties the queue. `stale` then has the parts for which the queue was incomplete. */
static int take_in(struct kernel *kernel)
{
    int r = nl_receive(kernel->notifications, hear, kernel);
    if (r == 0)
        r = work_in(kernel);
    vec_clear(&kernel->heard);
    if (losses_may_hit(&kernel->losses, &kernel->routes))
        kernel->stale |= STALE_ROUTES;
    vec_clear(&kernel->losses);
    if (r < 0)
        kernel->stale = everything(&kernel->scope);
    if (r == -ENOBUFS) {
        kernel->events.resynced = true;
        return 0;
    }
    return r;
}

static void swap(struct sorted *a, struct sorted *b)
{
    struct sorted old = *a;
    *a = *b;
    *b = old;
}

/* Replaces `table` with `fresh`, and frees the old one. True if they differ. */
static bool renew(struct sorted *table, struct sorted *fresh)
{
    bool differ = !sorted_equal(table, fresh);
    swap(table, fresh);
    return differ;
}

/* New dumps; those of tables that were not stale stay empty. */
struct fresh {
    struct sorted routes, rules, prefixes, networks, addresses, links, paths;
    bool twins;
};

static void fresh_done(struct fresh *fresh)
{
    sorted_done(&fresh->routes);
    sorted_done(&fresh->rules);
    sorted_done(&fresh->prefixes);
    sorted_done(&fresh->networks);
    sorted_done(&fresh->addresses);
    sorted_done(&fresh->links);
    sorted_done(&fresh->paths);
}

static int dump_stale(struct kernel *kernel, struct fresh *fresh)
{
    const unsigned stale = kernel->stale;
    int r = 0;
    if (stale & STALE_ROUTES)
        r = dump_routes(kernel->requests, &kernel->scope, &fresh->routes, &fresh->twins);
    if (r == 0 && stale & STALE_RULES)
        r = dump_rules(kernel->requests, &fresh->rules);
    if (r == 0 && stale & STALE_ADDRESSES)
        r = dump_addresses(kernel->requests, kernel->scope.ifindex, &fresh->prefixes,
                           &fresh->networks, &fresh->addresses);
    if (r == 0 && stale & STALE_LINKS)
        r = dump_links(kernel->requests, &fresh->links);
    if (r < 0)
        return r;
    return stale & (STALE_WAYS | STALE_DEFAULTS) ? dump_paths(kernel->requests, &fresh->paths) : 0;
}

/* Dumps what is stale; on failure all of it stays stale and unchanged. */
static int refresh(struct kernel *kernel)
{
    CLEANUP(fresh_done) struct fresh fresh = { .twins = kernel->twins };
    int r = dump_stale(kernel, &fresh);
    if (r == 0 && kernel->stale & STALE_WAYS)
        r = paths_keep_down(&kernel->paths, &kernel->links, &fresh.paths);
    else if (r == 0 && kernel->stale & STALE_DEFAULTS)
        r = paths_take_defaults(&kernel->paths, &fresh.paths);
    if (r < 0)
        return r;

    struct kernel_events *events = &kernel->events;
    events->links |= r > 0;
    if (kernel->stale & STALE_ROUTES)
        events->resynced |= renew(&kernel->routes, &fresh.routes);
    if (kernel->stale & STALE_RULES)
        (void)renew(&kernel->rules, &fresh.rules);
    if (kernel->stale & STALE_ADDRESSES) {
        events->addresses |= renew(&kernel->prefixes, &fresh.prefixes);
        (void)renew(&kernel->networks, &fresh.networks);
        events->links |= renew(&kernel->addresses, &fresh.addresses);
    }
    if (kernel->stale & STALE_LINKS) {
        events->links |= !links_equal(&kernel->links, &fresh.links);
        swap(&kernel->links, &fresh.links);
    }
    if (kernel->stale & STALE_WAYS)
        events->links |= renew(&kernel->paths, &fresh.paths);
    kernel->twins = fresh.twins;
    kernel->stale = 0;
    return 0;
}

int kernel_read(struct kernel *kernel)
{
    int r = take_in(kernel);
    return r < 0 ? r : refresh(kernel);
}

int kernel_resync(struct kernel *kernel)
{
    int r = take_in(kernel);
    if (r < 0 && r != -ENOMEM)
        return r;
    kernel->stale = everything(&kernel->scope);
    return refresh(kernel);
}

int kernel_open(const struct kernel_scope *scope, int netns, struct kernel **ret_kernel)
{
    uint32_t groups[SCOPE_GROUPS_MAX];
    CLEANUP(kernel_closep) struct kernel *kernel = calloc(1, sizeof(*kernel));
    if (!kernel)
        return -ENOMEM;
    kernel->scope = *scope;
    kernel->paths = (struct sorted)SORTED(struct link_path, link_path_cmp);
    kernel->watched = (struct sorted)SORTED(struct ip, ip_item_cmp);
    kernel->stale = everything(scope);
    int r = nl_open_in(netns, NETLINK_ROUTE, &kernel->requests);
    if (r < 0)
        return r;
    r = nl_open_listener(netns, NETLINK_ROUTE, groups, scope_groups(scope, groups),
                         &kernel->notifications);
    if (r < 0)
        return r;
    r = refresh(kernel);
    if (r < 0)
        return r;
    kernel_events_done(kernel);
    *ret_kernel = TAKE_PTR(kernel);
    return 0;
}

void kernel_close(struct kernel *kernel)
{
    if (!kernel)
        return;
    nl_close(kernel->requests);
    nl_close(kernel->notifications);
    sorted_done(&kernel->routes);
    sorted_done(&kernel->rules);
    sorted_done(&kernel->prefixes);
    sorted_done(&kernel->networks);
    sorted_done(&kernel->links);
    sorted_done(&kernel->addresses);
    sorted_done(&kernel->paths);
    sorted_done(&kernel->watched);
    vec_done(&kernel->events.routes);
    vec_done(&kernel->events.paths);
    vec_done(&kernel->events.settings);
    vec_done(&kernel->heard);
    vec_done(&kernel->losses);
    free(kernel);
}

int kernel_fd(const struct kernel *kernel)
{
    return nl_fd(kernel->notifications);
}

const struct kernel_events *kernel_events(const struct kernel *kernel)
{
    return &kernel->events;
}

void kernel_events_done(struct kernel *kernel)
{
    vec_clear(&kernel->events.routes);
    vec_clear(&kernel->events.paths);
    vec_clear(&kernel->events.settings);
    kernel->events.many_paths = false;
    kernel->events.rules = kernel->events.other_rules = false;
    kernel->events.addresses = kernel->events.resynced = false;
    kernel->events.links = kernel->events.watched = false;
    kernel->events.writer = kernel->writer_order = 0;
}

const struct sorted *kernel_routes(const struct kernel *kernel)
{
    return &kernel->routes;
}

const struct sorted *kernel_rules(const struct kernel *kernel)
{
    return &kernel->rules;
}

const struct sorted *kernel_local_prefixes(const struct kernel *kernel)
{
    return &kernel->prefixes;
}

const struct sorted *kernel_local_networks(const struct kernel *kernel)
{
    return &kernel->networks;
}

const struct sorted *kernel_links(const struct kernel *kernel)
{
    return &kernel->links;
}

const struct sorted *kernel_link_addresses(const struct kernel *kernel)
{
    return &kernel->addresses;
}

const struct sorted *kernel_paths(const struct kernel *kernel)
{
    return &kernel->paths;
}

int kernel_watch(struct kernel *kernel, const struct ip *addresses, size_t count)
{
    sorted_clear(&kernel->watched);
    for (size_t i = 0; i < count; i++) {
        int r = sorted_put(&kernel->watched, &addresses[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

struct nl_socket *kernel_requests(struct kernel *kernel)
{
    return kernel->requests;
}

int kernel_default_sources(struct kernel *kernel, struct default_sources *ret_sources)
{
    struct default_sources sources;
    int r = source_by_default(kernel->requests, IP_V4, &sources.v4);
    if (r < 0)
        return r;
    r = source_by_default(kernel->requests, IP_V6, &sources.v6);
    if (r < 0)
        return r;
    *ret_sources = sources;
    return 0;
}

/* The notifications of our own changes must fit the receive buffer: it is emptied meanwhile. */
int kernel_apply_routes(struct kernel *kernel, const struct route_op *ops, size_t count,
                        struct op_result *results)
{
    for (size_t done = 0; done < count;) {
        size_t some = MIN(count - done, (size_t)WRITE_CHUNK);
        int r = write_routes(kernel->requests, ops + done, some, results + done);
        if (r < 0)
            return r;
        done += some;
        if (done < count)
            (void)take_in(kernel); /* on failure, kernel_read() dumps */
    }
    return 0;
}

int kernel_apply_rules(struct kernel *kernel, const struct rule_op *ops, size_t count,
                       struct op_result *results)
{
    return write_rules(kernel->requests, ops, count, results);
}
