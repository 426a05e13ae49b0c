// SPDX-License-Identifier: Apache-2.0
/*
 * See holdings.h. Called by the agent after each pass, and by the route planner, which must not
 * announce claimed addresses.
 *
 * A node is eligible for an address by any of the Services that name it: if the Service has a
 * usable endpoint by its policy, the advertisement selects the node, and NAT serves it.
 */
#include "plan/claims/holdings.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/ours.h"
#include "base/sorted.h"
#include "plan/claims/holding_nodes.h"
#include "plan/routes/claim.h"

static void wanted_done(struct wanted *wanted)
{
    vec_done(&wanted->services);
}

/* The working state. */
struct listing {
    holding_list list;
    claim_kinds kinds;
};

void holding_list_done(holding_list *list)
{
    vec_each(struct holding, holding, list) {
        vec_done(&holding->addresses);
        contenders_drop(holding->others);
    }
    vec_done(list);
}

/* ---- What is claimed ---- */

static int find_services(struct wanted *wanted)
{
    size_t count;
    const struct node_facts *facts = wanted->inputs->node;
    const struct service *const *services = store_services_at(facts->store, &wanted->ip, &count);
    for (size_t i = 0; i < count; i++) {
        bool claimed = false;
        for (uint32_t j = 0; j < services[i]->address_count; j++) {
            const struct service_address *address = &services[i]->addresses[j];
            claimed |= ip_equal(&address->ip, &wanted->ip) &&
                       claim_on_segment(facts, services[i], address);
        }
        if (claimed && vec_push(&wanted->services, services[i]) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* ---- By which interface ---- */

static bool is_configured(const struct config *config, const char *interface)
{
    if (config->addresses.interfaces_auto)
        return true;
    vec_each(char *const, pattern, &config->addresses.interfaces) {
        if (fnmatch(*pattern, interface, 0) == 0)
            return true;
    }
    return false;
}

static enum placement_reason judge_link(const struct wanted *wanted, const struct node *node,
                                        const char *interface)
{
    if (!is_configured(wanted->inputs->node->config, interface))
        return PLACEMENT_UNUSED_LINK;
    vec_each(const struct service *const, service, &wanted->services) {
        if (wanted_selects(wanted, *service, node, interface))
            return PLACEMENT_MAY;
    }
    return wanted->services.count ? PLACEMENT_OTHER_LINKS : PLACEMENT_MAY;
}

/* The best of the allowed interfaces. */
static enum placement_reason find_link(const struct wanted *wanted, const struct node *node,
                                       const struct link **ret_link)
{
    const struct node_facts *facts = wanted->inputs->node;
    enum placement_reason reason = placement_on_link(facts, &wanted->ip, NULL, ret_link);
    if (reason == PLACEMENT_MAY)
        reason = judge_link(wanted, node, (*ret_link)->name);
    if (*ret_link == NULL || reason == PLACEMENT_MAY)
        return reason;
    sorted_each(const struct link, link, facts->links) {
        if (judge_link(wanted, node, link->name) == PLACEMENT_MAY &&
            placement_on_link(facts, &wanted->ip, link->name, ret_link) == PLACEMENT_MAY)
            return PLACEMENT_MAY;
    }
    *ret_link = NULL;
    return reason;
}

/*
 * Only with our IFA_PROTO: an address that another program has replaced, without our number, would
 * stay for ever.
 */
static bool is_there(const struct node_facts *facts, const struct link *link, const struct ip *ip)
{
    sorted_each(const struct link_address, address, facts->link_addresses) {
        if (address->ifindex == link->ifindex && ip_equal(&address->ip, ip))
            return address->protocol == ADDRESS_PROTOCOL_KEPT;
    }
    return false;
}

/* Checks this node itself, after the checks that all nodes make. */
static void judge_self(const struct wanted *wanted, const struct node *node, int reason,
                       struct holding_address *address)
{
    const struct link *link;
    const struct route_inputs *inputs = wanted->inputs;
    enum placement_reason by_link = find_link(wanted, node, &link);
    if (link) {
        address->ifindex = link->ifindex;
        memcpy(address->mac, link->mac, sizeof(address->mac));
        (void)snprintf(address->interface, sizeof(address->interface), "%s", link->name);
        address->there = is_there(inputs->node, link, &wanted->ip);
    }
    if (inputs->standing != STANDING_SERVING)
        address->reason = PLACEMENT_STANDING;
    else if (by_link == PLACEMENT_NO_INTERFACE || reason == PLACEMENT_MAY)
        address->reason = by_link;
    else
        address->reason = (enum placement_reason)reason;
    if (address->reason == PLACEMENT_MAY && wanted->services.count &&
        !route_inputs_proved(inputs, &wanted->ip))
        address->reason = PLACEMENT_NOT_PROVED;
}

/* ---- Claims ---- */

/* All groups of an IPv6 address are written, so that no label begins or ends with a dash. */
static void write_address_key(const struct ip *ip, char key[static HOLDING_KEY_MAX])
{
    const uint8_t *b = ip->bytes;
    int length = snprintf(key, HOLDING_KEY_MAX, "address");
    if (ip->family == IP_V4) {
        (void)snprintf(key + length, HOLDING_KEY_MAX - (size_t)length, ".%u-%u-%u-%u", b[0], b[1],
                       b[2], b[3]);
        return;
    }
    for (size_t i = 0; i < 16; i += 2)
        length += snprintf(key + length, HOLDING_KEY_MAX - (size_t)length, "%c%x", i ? '-' : '.',
                           b[i] << 8 | b[i + 1]);
}

static void write_key(const struct wanted *wanted, char key[static HOLDING_KEY_MAX])
{
    const enum claim_group group = wanted->inputs->node->config->addresses.group;
    if (group == CLAIM_OF_ALL) {
        (void)snprintf(key, HOLDING_KEY_MAX, "group.all");
    } else if (group == CLAIM_BY_SERVICE && wanted->services.count) {
        const struct object *object = &wanted->services.items[0]->object;
        (void)snprintf(key, HOLDING_KEY_MAX, "service.%s.%s", object->namespace, object->name);
    } else {
        write_address_key(&wanted->ip, key);
    }
}

/* The claim of this key, created if missing. NULL: no memory. */
static struct holding *holding_of(holding_list *list, const char *key)
{
    struct holding fresh = { .reason = PLACEMENT_MAY };
    vec_each(struct holding, holding, list) {
        if (strcmp(holding->key, key) == 0)
            return holding;
    }
    (void)snprintf(fresh.key, sizeof(fresh.key), "%s", key);
    return vec_push(list, fresh) < 0 ? NULL : &list->items[list->count - 1];
}

/* A node is eligible for a claim if it is for all of its addresses. */
static int note_others(const struct wanted *wanted, claim_kinds *kinds, struct holding *holding)
{
    CLEANUP(contenders_dropp) struct contenders *others = NULL;
    struct contenders *both;
    int r = wanted_others(wanted, kinds, &others);
    if (r < 0)
        return r;
    if (!holding->others) {
        holding->others = TAKE_PTR(others);
        return 0;
    }
    r = contenders_both(holding->others, others, &both);
    if (r < 0)
        return r;
    contenders_drop(holding->others);
    holding->others = both;
    return 0;
}

static int note_self(const struct wanted *wanted, struct holding *holding)
{
    const struct node_facts *facts = wanted->inputs->node;
    const struct object *own = store_get(facts->store, KIND_NODE, "", facts->config->node);
    const struct node *node = own ? to_node(own) : NULL;
    struct holding_address address = {
        .ip = wanted->ip,
        .service = wanted->services.count ? wanted->services.items[0] : NULL,
    };
    int reason = wanted_judge(wanted, node, facts->config->node);
    if (reason < 0)
        return reason;
    judge_self(wanted, node, reason, &address);
    struct lost_port lost = { 0 };
    int r = wanted_lacks(wanted, facts->config->node, &lost);
    if (r < 0)
        return r;
    holding->lacks |= r > 0;
    address.lost_service = lost.service;
    address.lost_port = lost.port;
    if (holding->reason == PLACEMENT_MAY)
        holding->reason = address.reason;
    return vec_push(&holding->addresses, address);
}

static int add(struct listing *listing, const struct wanted *wanted)
{
    char key[HOLDING_KEY_MAX];
    write_key(wanted, key);
    struct holding *holding = holding_of(&listing->list, key);
    int r = holding ? note_self(wanted, holding) : -ENOMEM;
    return r < 0 ? r : note_others(wanted, &listing->kinds, holding);
}

static int add_claimed(struct listing *listing, const struct route_inputs *inputs,
                       const struct ip *ip, bool own)
{
    CLEANUP(wanted_done) struct wanted wanted = { .inputs = inputs, .ip = *ip };
    int r = find_services(&wanted);
    return r < 0 || (wanted.services.count == 0 && !own) ? r : add(listing, &wanted);
}

static int key_cmp(const void *a, const void *b)
{
    return strcmp(((const struct holding *)a)->key, ((const struct holding *)b)->key);
}

static bool is_own(const struct config *config, const struct ip *ip)
{
    vec_each(const struct ip, own, &config->addresses.own) {
        if (ip_equal(own, ip))
            return true;
    }
    return false;
}

static int list_all(const struct route_inputs *inputs, struct listing *listing)
{
    const struct config *config = inputs->node->config;
    AUTOVEC ip_list addresses = { 0 };
    int r = store_addresses(inputs->node->store, &addresses);
    if (r < 0)
        return r;
    r = vec_append(&addresses, &config->addresses.own);
    if (r < 0)
        return r;
    ip_list_unite(&addresses);
    vec_each(const struct ip, ip, &addresses) {
        r = add_claimed(listing, inputs, ip, is_own(config, ip));
        if (r < 0)
            return r;
    }
    vec_sort(&listing->list, key_cmp);
    return 0;
}

int plan_holdings(const struct route_inputs *inputs, holding_list *ret_list)
{
    struct listing listing = { 0 };
    int r = inputs->node->config->addresses.enabled ? list_all(inputs, &listing) : 0;
    claim_kinds_done(&listing.kinds);
    if (r < 0) {
        holding_list_done(&listing.list);
        return r;
    }
    *ret_list = listing.list;
    return 0;
}
