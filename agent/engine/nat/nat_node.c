// SPDX-License-Identifier: Apache-2.0
/*
 * Writes the datapath's settings for interfaces, addresses and networks; see nat_node.h. Called
 * whenever links or addresses change, after a reload, and in every pass over everything. The
 * planners define what should exist, and only the difference is written.
 *
 * Every proof is made again when svc0, the networks, this node's addresses, the uplinks or the
 * state of the hooks as a whole change. A pod's interface alone is no reason for that, because pods
 * are added and deleted all the time: then only failed proofs are retried.
 */
#include "engine/nat/nat_node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/host/defrag.h"
#include "apply/nat/host/svc0.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"
#include "engine/nat/host/nat_machine.h"
#include "engine/nat/proof/nat_origins.h"
#include "model/node.h"

int nat_node_open(struct nat_node *node, struct nat_datapath *datapath, const char *pins)
{
    *node = (struct nat_node){ .datapath = datapath, .moved = true };
    node->defragments[0] = nat_defrag_ensure(pins, IP_V4) == 0;
    node->defragments[1] = nat_defrag_ensure(pins, IP_V6) == 0;
    return nat_hooks_open(datapath, pins, &node->hooks);
}

void nat_node_done(struct nat_node *node)
{
    nat_hooks_close(node->hooks);
    vec_done(&node->wanted);
    vec_done(&node->interfaces);
    vec_done(&node->local);
    nat_settings_done(&node->settings);
    *node = (struct nat_node){ 0 };
}

static void report(struct status *status, const char *group, const struct faults *faults)
{
    (void)fault_book_replace(status->faults, "services", group, faults, clock_wall_ms());
}

static bool same_networks(const struct nat_settings *a, const struct nat_settings *b)
{
    return prefixes_equal(a->pod_nets, a->pod_net_count, b->pod_nets, b->pod_net_count) &&
           prefixes_equal(a->own_blocks, a->own_block_count, b->own_blocks, b->own_block_count) &&
           prefixes_equal(a->service_nets, a->service_net_count, b->service_nets,
                          b->service_net_count);
}

static int follow_settings(struct nat_node *node, const struct node_facts *facts,
                           struct status *status)
{
    CLEANUP(nat_settings_done) struct nat_settings fresh = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    int r = plan_nat_settings(facts, &fresh, &faults);
    if (r < 0)
        return r;
    r = nat_datapath_set(node->datapath, &fresh, &faults);
    if (r < 0)
        return r;
    node->moved |= !same_networks(&fresh, &node->settings);
    nat_settings_done(&node->settings);
    node->settings = TAKE_STRUCT(fresh);
    report(status, "networks", &faults);
    return 0;
}

/* The input of the planner of hooks. */
static struct link_facts link_facts_of(const struct nat_node *node, const struct node_facts *facts,
                                       const struct kernel *kernel)
{
    return (struct link_facts){
        .config = facts->config,
        .links = kernel_links(kernel),
        .paths = kernel_paths(kernel),
        .addresses = kernel_link_addresses(kernel),
        .pod_nets = node->settings.pod_nets,
        .pod_net_count = node->settings.pod_net_count,
    };
}

static int follow_svc0(struct nat_node *node, const struct node_facts *facts, struct kernel *kernel,
                       struct faults *faults)
{
    struct svc0 found = { 0 };
    const struct link_facts known = link_facts_of(node, facts, kernel);
    uint32_t mtu = plan_svc0_mtu(&known);
    int r = svc0_ensure(mtu, &found, faults);
    if (r < 0)
        return r;
    r = kernel_read(kernel); /* the mirror has to contain svc0 as well */
    if (r < 0)
        return r;
    r = nat_datapath_set_svc0(node->datapath, found.ifindex, found.mac);
    if (r < 0)
        return r;
    r = kernel_default_sources(kernel, &node->defaults);
    if (r < 0)
        return r;
    struct nat_svc0 leads = plan_nat_svc0(facts, found.ifindex, &node->defaults);
    node->moved |= leads.ifindex != node->leads.ifindex || !ip_equal(&leads.v4, &node->leads.v4) ||
                   !ip_equal(&leads.v6, &node->leads.v6);
    node->leads = leads;
    return 0;
}

/* The prefixes are sorted, so that an address on several interfaces comes several times in
 * succession. */
static int list_own_addresses(const struct sorted *prefixes, ip_list *ret_list)
{
    sorted_each(const struct prefix, prefix, prefixes) {
        const struct ip *last = ret_list->count ? &ret_list->items[ret_list->count - 1] : NULL;
        bool host = prefix->length == ip_bits(&prefix->ip);
        if (!host || (last && ip_equal(last, &prefix->ip)))
            continue;
        int r = vec_push(ret_list, prefix->ip);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Endpoints on this node's own addresses are delivered here. */
static int follow_local(struct nat_node *node, struct kernel *kernel)
{
    AUTOVEC ip_list fresh = { 0 };
    int r = list_own_addresses(kernel_local_prefixes(kernel), &fresh);
    if (r < 0)
        return r;
    r = nat_datapath_set_local(node->datapath, fresh.items, fresh.count);
    if (r < 0)
        return r;
    bool same = fresh.count == node->local.count;
    for (size_t i = 0; same && i < fresh.count; i++)
        same = ip_equal(&fresh.items[i], &node->local.items[i]);
    node->moved |= !same;
    node->own_moved |= !same;
    vec_move(&node->local, &fresh);
    return 0;
}

/* Sets the interfaces that existed before, or all. Both lists are in order of interfaces. */
static int set_interfaces(struct nat_node *node, struct kernel *kernel, nat_interface_list *fresh,
                          bool all)
{
    size_t at = 0;
    plan_nat_backs(kernel_links(kernel), &node->wanted, fresh);
    vec_each(const struct nat_interface, it, fresh) {
        while (at < node->interfaces.count && node->interfaces.items[at].ifindex < it->ifindex)
            at++;
        bool was = at < node->interfaces.count && node->interfaces.items[at].ifindex == it->ifindex;
        if (!was && !all)
            continue;
        int r = nat_datapath_set_interface(node->datapath, it->ifindex, &it->v4, &it->v6, it->back);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Removes the interfaces that are gone. Both lists are in order of interfaces. */
static int remove_interfaces(struct nat_node *node, const nat_interface_list *fresh)
{
    size_t at = 0;
    vec_each(const struct nat_interface, it, &node->interfaces) {
        while (at < fresh->count && fresh->items[at].ifindex < it->ifindex)
            at++;
        if (at < fresh->count && fresh->items[at].ifindex == it->ifindex)
            continue;
        int r = nat_datapath_remove_interface(node->datapath, it->ifindex);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The source addresses of the interfaces; entry 0 is for interfaces that have none. */
static int follow_interfaces(struct nat_node *node, struct kernel *kernel,
                             nat_interface_list *fresh)
{
    int r = plan_nat_interfaces(kernel_links(kernel), kernel_link_addresses(kernel),
                                &node->defaults, &node->leads, fresh);
    if (r < 0)
        return r;
    r = nat_datapath_set_interface(node->datapath, 0, &node->leads.v4, &node->leads.v6, 0);
    if (r < 0)
        return r;
    r = remove_interfaces(node, fresh);
    return r < 0 ? r : set_interfaces(node, kernel, fresh, false);
}

/* Adds new interfaces to the maps once they have their hooks: svc0 masquerades what enters by other
 * interfaces, and without hooks no reply would be translated. An agent may be killed in between. */
static int welcome_interfaces(struct nat_node *node, struct kernel *kernel,
                              nat_interface_list *fresh)
{
    int r = set_interfaces(node, kernel, fresh, true);
    if (r < 0)
        return r;
    vec_move(&node->interfaces, fresh);
    return 0;
}

static int attachment_name_cmp(const void *a, const void *b)
{
    const struct nat_attachment *left = a, *right = b;
    return strcmp(left->name, right->name);
}

/* The status of an interface, which is the last entry or is appended behind it. NULL: no memory. */
static struct nat_interface_status *status_of(struct nat_status *status, const char name[static 16])
{
    size_t count = status->interfaces.count;
    if (count && strcmp(status->interfaces.items[count - 1].name, name) == 0)
        return &status->interfaces.items[count - 1];
    struct nat_interface_status fresh = { 0 };
    memcpy(fresh.name, name, sizeof(fresh.name));
    return vec_push(&status->interfaces, fresh) < 0 ? NULL : &status->interfaces.items[count];
}

/* For operators: which hooks of an interface carry our program. */
static int tell_interfaces(struct nat_node *node, struct nat_status *status)
{
    AUTOVEC nat_attachment_list by_name = { 0 };
    int r = vec_append(&by_name, &node->wanted);
    if (r < 0)
        return r;
    vec_sort(&by_name, attachment_name_cmp);
    status->interfaces.count = 0;
    vec_each(const struct nat_attachment, it, &by_name) {
        struct nat_interface_status *interface = status_of(status, it->name);
        if (!interface)
            return -ENOMEM;
        interface->wanted |= (uint8_t)(1u << it->hook);
        if (node->attached || nat_hooks_attached(node->hooks, it, 1))
            interface->attached |= (uint8_t)(1u << it->hook);
    }
    return 0;
}

/* The next uplink from `at` on; the list's end if there is none. */
static size_t next_uplink(const nat_attachment_list *list, size_t at)
{
    while (at < list->count && list->items[at].hook != NAT_HOOK_UPLINK_IN)
        at++;
    return at;
}

static bool same_uplinks(const nat_attachment_list *a, const nat_attachment_list *b)
{
    size_t left = next_uplink(a, 0), right = next_uplink(b, 0);
    while (left < a->count && right < b->count &&
           a->items[left].ifindex == b->items[right].ifindex &&
           a->items[left].vrf == b->items[right].vrf) {
        left = next_uplink(a, left + 1);
        right = next_uplink(b, right + 1);
    }
    return left == a->count && right == b->count;
}

static void follow_tunnels(struct nat_node *node)
{
    uint32_t tunnels[NAT_MAX_BY_ROUTE];
    size_t count = 0;
    vec_each(const struct nat_attachment, it, &node->wanted) {
        bool known = count && tunnels[count - 1] == it->ifindex;
        if (it->by_route && !known && count < NAT_MAX_BY_ROUTE)
            tunnels[count++] = it->ifindex;
    }
    nat_datapath_set_by_route(node->datapath, tunnels, count);
}

static int follow_hooks(struct nat_node *node, const struct node_facts *facts,
                        struct kernel *kernel, struct status *status)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC nat_attachment_list wanted = { 0 };
    uint32_t repairs = 0;
    const struct link_facts known = link_facts_of(node, facts, kernel);
    int r = plan_nat_hooks(&known, &wanted, &faults);
    if (r == 0)
        r = nat_hooks_sync(node->hooks, wanted.items, wanted.count, &repairs, &faults);
    if (r >= 0)
        r = nat_datapath_settle(node->datapath);
    if (r < 0)
        return r;
    if (repairs)
        log_notice("attached %u programs of service NAT again that somebody had taken away",
                   repairs);
    status->nat.repairs += repairs;
    status->nat.method = nat_hooks_method(node->hooks);
    node->moved |= !same_uplinks(&wanted, &node->wanted);
    memcpy(status->nat.defragments, node->defragments, sizeof(node->defragments));
    vec_move(&node->wanted, &wanted);
    follow_tunnels(node);
    node->rank = nat_node_look(node);
    bool attached = node->rank != NAT_RANK_NONE;
    node->incomplete = !faults_none(&faults) || node->rank != NAT_RANK_FIRST;
    node->moved |= attached != node->attached;
    node->attached = attached;
    const struct faults none = { 0 }; /* where nothing can be pinned, the pins report the cause */
    report(status, "hooks", nat_datapath_may_pin(node->datapath) ? &faults : &none);
    return tell_interfaces(node, &status->nat);
}

enum nat_rank nat_node_look(struct nat_node *node)
{
    return nat_hooks_rank(node->hooks, node->wanted.items, node->wanted.count);
}

/* The addresses of this machine in the Node object. */
static void take_names(struct nat_node *node, const struct node_facts *facts)
{
    const struct object *object = store_get(facts->store, KIND_NODE, "", facts->config->node);
    node->named.v4 = object ? to_node(object)->primary_v4 : (struct ip){ 0 };
    node->named.v6 = object ? to_node(object)->primary_v6 : (struct ip){ 0 };
}

/*
 * What needed a setting that is right again is proved at once, without waiting for its retry. The
 * group sorts before that of proofs, so that the cause is reported before its consequences.
 */
static void follow_host(struct nat_node *node, const struct node_facts *facts,
                        struct status *status)
{
    AUTOFAULTS struct faults found = { 0 }, addresses = { 0 };
    take_names(node, facts);
    nat_machine_addresses(node, facts, &addresses);
    nat_machine_settings(node, &found);
    node->moved |= found.list.count != node->hindrances;
    node->hindrances = found.list.count;
    report(status, "host", &found);
    report(status, "host addresses", &addresses);
}

bool nat_node_host_moved(const struct nat_node *node)
{
    AUTOFAULTS struct faults found = { 0 };
    nat_machine_settings(node, &found);
    return found.list.count != node->hindrances;
}

/* Another link has svc0's name, or the kernel refuses svc0: no Service is served without it. */
static void do_without_svc0(struct nat_node *node)
{
    node->moved |= node->leads.ifindex != 0;
    node->leads = (struct nat_svc0){ 0 };
    node->attached = false;
    node->incomplete = true;
}

int nat_node_follow(struct nat_node *node, const struct node_facts *facts, struct kernel *kernel,
                    struct status *status)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC nat_interface_list interfaces = { 0 };
    int r = follow_settings(node, facts, status);
    if (r < 0)
        return r;
    r = follow_svc0(node, facts, kernel, &faults);
    report(status, "svc0", &faults);
    if (r < 0 && r != -ENOMEM && !faults_none(&faults)) {
        do_without_svc0(node);
        return 0;
    }
    if (r < 0)
        return r;
    r = follow_local(node, kernel);
    if (r < 0)
        return r;
    r = follow_interfaces(node, kernel, &interfaces);
    if (r < 0)
        return r;
    r = follow_hooks(node, facts, kernel, status);
    if (r < 0)
        return r;
    r = welcome_interfaces(node, kernel, &interfaces);
    if (r < 0)
        return r;
    nat_origins_find(node, kernel);
    follow_host(node, facts, status);
    return 0;
}

int nat_node_verify(struct nat_node *node, nat_difference_list *list)
{
    vec_each(const struct nat_attachment, it, &node->wanted) {
        if (nat_hooks_attached(node->hooks, it, 1))
            continue;
        struct nat_difference difference = {
            .service = strdup(""),
            .text = text_format("%s lacks our program at %s", it->name, nat_hook_name(it->hook)),
        };
        if (!difference.service || !difference.text || vec_push(list, difference) < 0) {
            free(difference.service);
            free(difference.text);
            return -ENOMEM;
        }
    }
    return 0;
}
