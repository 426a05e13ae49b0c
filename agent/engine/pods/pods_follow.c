// SPDX-License-Identifier: Apache-2.0
/*
 * A round of the pods engine: the kernel's links determine which pod has which address, then each
 * address gets its route.
 *
 * A pod interface is recognized by the alias of a link. A link that exists but lost its alias gets
 * it back; a pod interface whose link is gone is lost with it. A route is wanted as soon as the
 * link is up: the kernel deletes the IPv4 routes of a link that goes down, and refuses new ones.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "apply/netlink/link.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"
#include "engine/pods/pods_state.h"
#include "faults/pods.h"
#include "faults/raise.h"
#include "model/address_block.h"
#include "model/pod.h"

/* A pod keeps its addresses for life. */

typedef VEC(struct route_op) route_op_list;

/* ---- Blocks ---- */

static bool is_closed(const struct pods_engine *pods, const char *name)
{
    vec_each(const struct pod_closed, closed, &pods->closed) {
        if (strcmp(closed->name, name) == 0)
            return true;
    }
    return false;
}

static int follow_blocks(struct pods_engine *pods)
{
    AUTOVEC pod_block_list blocks = { 0 };
    size_t cursor = 0;
    const struct object *object;
    while ((object = store_next(pods->setup.store, KIND_ADDRESS_BLOCK, &cursor))) {
        const struct address_block *block = to_address_block(object);
        struct pod_block entry = {
            .ipv4 = block->ipv4,
            .ipv6 = block->ipv6,
            .reserved = block->reserved,
            .closed = object->deleting || is_closed(pods, object->name),
        };
        if (strcmp(block->node, pods->setup.config->node) != 0)
            continue;
        snprintf(entry.name, sizeof(entry.name), "%s", object->name);
        snprintf(entry.pool, sizeof(entry.pool), "%s", block->pool);
        int r = vec_push(&blocks, entry);
        if (r < 0)
            return r;
    }
    return pod_addresses_set_blocks(&pods->addresses, &blocks, pods->setup.status->source.synced,
                                    clock_wall_ms());
}

/* ---- Pod interfaces ---- */

static int lose(struct pods_engine *pods, const struct pod_attachment *attachment, int64_t now_ms)
{
    const struct pod_loss loss = { .attachment = *attachment, .lost_ms = now_ms };
    if (pods->losses.count == POD_LOSSES_MAX) {
        pods->losses.count--;
        memmove(pods->losses.items, pods->losses.items + 1,
                pods->losses.count * sizeof(*pods->losses.items));
    }
    int r = vec_push(&pods->losses, loss);
    return r < 0 ? r : MIN(pods_forget(pods, &loss.attachment.pod_interface), 0);
}

/* The link exists without its alias. */
static void put_alias_back(struct pods_engine *pods, const struct pod_attachment *attachment,
                           struct round *round)
{
    char alias[POD_INTERFACE_ALIAS_LEN];
    if (pod_interface_alias(&attachment->pod_interface, alias) < 0)
        return;
    const struct nl_link_change change = { .alias = alias };
    int r = nl_link_change(pods->socket, attachment->ifindex, &change, NULL);
    round->changes++;
    round->repairs += r == 0;
    if (r < 0 && r != -ENODEV)
        log_warning("interface %u lost its alias %s, and it cannot be put back: %s",
                    attachment->ifindex, alias, strerror(-r));
}

/* No link yet: agent-cni is about to make it, or to make it again, or was killed. */
static int wait_for_link(struct pods_engine *pods, struct pod_attachment *attachment,
                         int64_t now_ms)
{
    const struct pod_interface pod_interface = attachment->pod_interface;
    attachment->ifindex = 0;
    return now_ms - attachment->promised_ms < PODS_PROMISE_MS
               ? 0
               : MIN(pods_forget(pods, &pod_interface), 0);
}

/* Handles a pod interface without a link in the kernel. Returns 0 or -errno. */
static int follow_missing(struct pods_engine *pods, struct pod_attachment *attachment,
                          struct round *round)
{
    if (attachment->ifindex == 0 || !attachment->wired)
        return wait_for_link(pods, attachment, round->now_ms);
    const struct link *link = link_find(kernel_links(pods->setup.kernel), attachment->ifindex);
    if (!link)
        return lose(pods, attachment, round->now_ms);
    if (!*link->alias)
        put_alias_back(pods, attachment, round);
    return 0;
}

/* Finds the pod's name of an adopted interface, by its address. */
static void name_stay(const struct pods_engine *pods, struct pod_attachment *attachment)
{
    size_t count = 0;
    const struct ip *ip = attachment->pod_interface.v4.family != IP_NONE
                              ? &attachment->pod_interface.v4
                              : &attachment->pod_interface.v6;
    const struct pod *const *list =
        *attachment->name ? NULL : store_pods_at(pods->setup.store, ip, &count);
    if (count == 0)
        return;
    snprintf(attachment->namespace, sizeof(attachment->namespace), "%s", list[0]->object.namespace);
    snprintf(attachment->name, sizeof(attachment->name), "%s", list[0]->object.name);
}

static int follow_known(struct pods_engine *pods, const struct pods_seen *seen, struct round *round)
{
    for (size_t i = pods->attachments.count; i-- > 0;) {
        struct pod_attachment *attachment = sorted_at(&pods->attachments, i);
        const struct pod_seen *found = pods_seen_find(seen, &attachment->pod_interface);
        name_stay(pods, attachment);
        if (found)
            attachment->ifindex = found->ifindex;
        int r = found ? 0 : follow_missing(pods, attachment, round);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool is_taken(const struct pods_engine *pods, const struct ip *ip)
{
    return ip->family != IP_NONE && sorted_find(&pods->addresses.used, ip);
}

/*
 * Adopts an interface that an earlier agent, or Coil's, has wired, or one whose addresses were
 * missing.
 */
static int adopt(struct pods_engine *pods, const struct pod_seen *seen, struct faults *faults)
{
    const struct pod_attachment *known = pods_attachment(pods, &seen->pod_interface);
    struct pod_attachment attachment = {
        .pod_interface = seen->pod_interface,
        .ifindex = seen->ifindex,
        .since_wall_ms = clock_wall_ms(),
        .wired = true,
    };
    snprintf(attachment.network, sizeof(attachment.network), "%s",
             known ? known->network : pods_memory_network(pods, &seen->pod_interface));
    if (known &&
        (known->pod_interface.v4.family != IP_NONE || known->pod_interface.v6.family != IP_NONE))
        return 0;
    if (is_taken(pods, &attachment.pod_interface.v4) ||
        is_taken(pods, &attachment.pod_interface.v6)) {
        char text[POD_INTERFACE_STRLEN];
        fault_raise(faults, pod_interface_str(&seen->pod_interface, text), pod_address_shared, 0);
        attachment.pod_interface.v4 = attachment.pod_interface.v6 = (struct ip){ 0 };
    }
    if (known && attachment.pod_interface.v4.family == IP_NONE &&
        attachment.pod_interface.v6.family == IP_NONE)
        return 0;
    int r = pod_addresses_put(&pods->addresses, &attachment.pod_interface);
    pods->unsaved = true;
    return r < 0 ? r : sorted_put(&pods->attachments, &attachment);
}

static void tell_outside(const struct pods_engine *pods, struct faults *faults)
{
    sorted_each(const struct pod_attachment, attachment, &pods->attachments) {
        const struct ip *ip = attachment->pod_interface.v4.family != IP_NONE
                                  ? &attachment->pod_interface.v4
                                  : &attachment->pod_interface.v6;
        char text[IP_STRLEN], place[POD_PLACE_LEN];
        if (ip->family == IP_NONE)
            fault_raise(faults, pods_place(attachment, place), pod_without_address,
                        .pool = attachment->pod_interface.pool);
        else if (!pod_block_at(&pods->addresses, ip))
            fault_raise(faults, pods_place(attachment, place), pod_address_outside_blocks,
                        .address = ip_str(ip, text));
    }
}

/* Whether the pod no longer exists. A folder of manifests need not have pods at all. */
static bool is_over(const struct pods_engine *pods, const struct pod_loss *loss)
{
    const struct object *pod =
        store_get(pods->setup.store, KIND_POD, loss->attachment.namespace, loss->attachment.name);
    if (pod)
        return pod->deleting;
    return *loss->attachment.name && pods->setup.status->source.synced &&
           pods->setup.config->source.kubernetes;
}

static void drop_losses(struct pods_engine *pods, int64_t now_ms)
{
    size_t kept = 0;
    vec_each(const struct pod_loss, loss, &pods->losses) {
        if (now_ms - loss->lost_ms < POD_LOSS_TOLD_MS && !is_over(pods, loss))
            pods->losses.items[kept++] = *loss;
    }
    pods->losses.count = kept;
}

/* A DEL reaches the agent before the link is deleted; a Pod's deletion is reported soon, if not
 * before. */
static void tell_losses(struct pods_engine *pods, int64_t now_ms, struct faults *faults)
{
    drop_losses(pods, now_ms);
    vec_each(const struct pod_loss, loss, &pods->losses) {
        const struct pod_attachment *attachment = &loss->attachment;
        if (now_ms - loss->lost_ms < POD_LOSS_GRACE_MS)
            continue;
        char v4[IP_STRLEN], v6[IP_STRLEN], place[POD_PLACE_LEN];
        fault_raise(faults, pods_place(attachment, place), pod_interface_gone,
                    .interface = attachment->pod_interface.interface,
                    .ipv4 = ip_str(&attachment->pod_interface.v4, v4),
                    .ipv6 = ip_str(&attachment->pod_interface.v6, v6));
    }
}

/* ---- Routes ---- */

/* Adds the missing routes of a pod interface's address. Returns 0, or -ENOMEM. */
static int add_route(const struct pods_engine *pods, const struct pod_attachment *attachment,
                     const struct ip *ip, route_op_list *ops)
{
    const struct sorted *have = kernel_routes(pods->setup.kernel);
    const struct route want =
        plan_pod_route(pods->setup.config->pods.table, ip, attachment->ifindex);
    bool replace = false;
    if (ip->family == IP_NONE || sorted_find(have, &want))
        return 0;
    for (size_t i = sorted_lower_bound(
             have,
             &(struct route){ .table = want.table, .prefix = want.prefix, .metric = want.metric });
         i < have->count && route_slot_cmp(sorted_at(have, i), &want) == 0; i++)
        replace = true;
    return vec_push(ops, (struct route_op){ replace ? OP_REPLACE : OP_ADD, want });
}

static int list_routes(struct pods_engine *pods, route_op_list *ops, struct round *round)
{
    const struct sorted *links = kernel_links(pods->setup.kernel);
    sorted_each(struct pod_attachment, attachment, &pods->attachments) {
        const struct link *link =
            attachment->ifindex ? link_find(links, attachment->ifindex) : NULL;
        size_t before = ops->count;
        bool was_routed = attachment->routed;
        attachment->routed = false;
        if (!link || !link->up)
            continue;
        int r = add_route(pods, attachment, &attachment->pod_interface.v4, ops);
        if (r < 0)
            return r;
        r = add_route(pods, attachment, &attachment->pod_interface.v6, ops);
        if (r < 0)
            return r;
        attachment->routed = true; /* unless one of them is refused */
        round->repairs += was_routed ? (uint32_t)(ops->count - before) : 0;
    }
    return 0;
}

/*
 * A setting of the interface may be the cause: pods_settings.c reads the settings now, or in its
 * next turn.
 */
static void tell_refused(struct pods_engine *pods, const struct route_op *op,
                         const struct op_result *result, struct faults *faults)
{
    char text[ROUTE_STRLEN];
    (void)vec_push(&pods->moved, op->route.ifindex);
    sorted_each(struct pod_attachment, attachment, &pods->attachments) {
        if (ip_equal(&attachment->pod_interface.v4, &op->route.prefix.ip) ||
            ip_equal(&attachment->pod_interface.v6, &op->route.prefix.ip))
            attachment->routed = false;
    }
    if (op->route.prefix.ip.family == IP_V6 && pods_end_is_too_small(pods, op->route.ifindex))
        return;
    const struct link *link = link_find(kernel_links(pods->setup.kernel), op->route.ifindex);
    const char *place = route_str_via(&op->route, link ? link->name : "", text);
    if (result->error == -EEXIST)
        fault_raise(faults, place, pod_route_occupied, .detail = result->text);
    else
        fault_raise(faults, place, pod_route_refused, .reason = strerror(-result->error),
                    .detail = result->text);
}

static int write_routes(struct pods_engine *pods, const route_op_list *ops, struct round *round,
                        struct faults *faults)
{
    AUTOFREE struct op_result *results = calloc(ops->count + 1, sizeof(*results));
    if (!results)
        return -ENOMEM;
    int r =
        ops->count ? kernel_apply_routes(pods->setup.kernel, ops->items, ops->count, results) : 0;
    if (r < 0)
        return r;
    for (size_t i = 0; i < ops->count; i++) {
        if (results[i].error < 0)
            tell_refused(pods, &ops->items[i], &results[i], faults);
    }
    round->changes += (uint32_t)ops->count;
    return 0;
}

static int follow_routes(struct pods_engine *pods, struct round *round)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC route_op_list ops = { 0 };
    int r = pods_follow_rule(pods, round, &faults);
    if (r < 0)
        return r;
    r = list_routes(pods, &ops, round);
    if (r < 0)
        return r;
    r = write_routes(pods, &ops, round, &faults);
    if (r < 0)
        return r;
    if (faults_none(&faults)) {
        backoff_reset(&pods->retry);
        pods->retry_ms = INT64_MAX;
    } else {
        pods->retry_ms = round->now_ms + backoff_next(&pods->retry);
    }
    pods_report(pods, "routes", &faults);
    return 0;
}

int pods_follow(struct pods_engine *pods, struct round *round)
{
    CLEANUP(pods_seen_done) struct pods_seen seen = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    int r = follow_blocks(pods);
    if (r < 0)
        return r;
    r = plan_pods_seen(kernel_links(pods->setup.kernel), kernel_routes(pods->setup.kernel),
                       &pods->addresses, &seen);
    if (r < 0)
        return r;
    r = follow_known(pods, &seen, round);
    if (r < 0)
        return r;
    vec_each(const struct pod_seen, it, &seen.pod_interfaces) {
        r = adopt(pods, it, &faults);
        if (r < 0)
            return r;
    }
    r = pods_follow_unowned(pods, &seen, round->now_ms, &faults);
    if (r < 0)
        return r;
    r = pods_memory_settle(pods, clock_wall_ms());
    if (r < 0)
        return r;
    tell_outside(pods, &faults);
    pods_tell_ends(pods, round->now_ms, &faults);
    pods_tell_local(pods, &faults);
    tell_losses(pods, round->now_ms, &faults);
    pods_report(pods, "tenants", &faults);
    pods->known = true;
    return follow_routes(pods, round);
}
