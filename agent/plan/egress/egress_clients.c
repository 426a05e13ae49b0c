// SPDX-License-Identifier: Apache-2.0
/*
 * The gateway side: which Egresses this node serves, and which addresses may send through it.
 *
 * A gateway serves the Egresses of its configuration, or else those that select this Node. A client
 * is an address of a pod on any node whose annotation names one of these. As on the client side,
 * the youngest of several pods with one address is taken as the sender; if it names none of our
 * Egresses, the address is no client.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "faults/egress.h"
#include "faults/raise.h"
#include "plan/egress/egress.h"
#include "plan/egress/egress_names.h"
#include "plan/nat/nat_addresses.h"

static void unknown_fault(const char *name, struct faults *faults)
{
    AUTOFREE char *place = text_format("Egress %s", name);
    fault_raise(faults, place, egress_served_unknown, 0);
}

static int add_named(const struct node_facts *facts, const char *name, egress_ref_list *served,
                     struct faults *faults)
{
    struct egress_item item;
    const char *list = name;
    if (!egress_list_next(&list, &item))
        return 0;
    const struct egress *egress =
        egress_of(facts, &(struct egress_ref){ item.namespace, item.name });
    if (!egress) {
        unknown_fault(name, faults);
        return 0;
    }
    return vec_push(served, (struct egress_ref){ egress->object.namespace, egress->object.name });
}

static int add_if_selected(const struct egress *egress, const struct node *node,
                           egress_ref_list *served, struct faults *faults)
{
    CLEANUP(label_selector_freep) struct label_selector *selector = NULL;
    if (!egress->gateway_nodes)
        return 0;
    int r = egress_selector(egress, &selector, faults);
    if (r != 0)
        return r < 0 ? r : 0;
    if (!label_selector_matches(selector, node->labels, node->label_count))
        return 0;
    return vec_push(served, (struct egress_ref){ egress->object.namespace, egress->object.name });
}

static int add_selected(const struct node_facts *facts, egress_ref_list *served,
                        struct faults *faults)
{
    AUTOFAULTS struct faults told = { 0 }; /* of selectors: reported with the sets */
    AUTOVEC object_list egresses = { 0 };
    const struct node *node = nat_this_node(facts);
    int r = node ? store_list(facts->store, KIND_EGRESS, &egresses) : 0;
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &egresses) {
        r = add_if_selected(to_egress(*object), node, served,
                            facts->config->egress.enabled ? &told : faults);
        if (r < 0)
            return r;
    }
    return 0;
}

int plan_egress_served(const struct node_facts *facts, egress_ref_list *served,
                       struct faults *faults)
{
    const string_list *names = &facts->config->egress.gateway.serves;
    int r = names->count ? 0 : add_selected(facts, served, faults);
    if (r < 0)
        return r;
    vec_each(char *const, name, names) {
        r = add_named(facts, *name, served, faults);
        if (r < 0)
            return r;
    }
    vec_sort(served, egress_ref_cmp);
    vec_drop_equal(served, egress_ref_cmp);
    if (served->count == 0 && !facts->gateway_retires)
        fault_raise(faults, "egress.gateway", egress_gateway_serves_none, 0);
    return 0;
}

/* Adds those of a pod's Egresses that are served here. */
static void add_served(const struct pod *pod, const egress_ref_list *served, struct text *out)
{
    for (uint32_t i = 0; i < pod->egress_count; i++) {
        if (vec_find(served, &pod->egresses[i], egress_ref_cmp))
            egress_list_add(out, pod->egresses[i].namespace, pod->egresses[i].name);
    }
}

int plan_egress_client(const struct node_facts *facts, const egress_ref_list *served,
                       const struct ip *address, struct egress_client **ret_client)
{
    AUTOTEXT struct text egresses = { 0 };
    size_t count;
    const struct pod *const *pods = store_pods_at(facts->store, address, &count);
    *ret_client = NULL;
    if (count == 0)
        return 0;
    const struct pod *pod = pods[count - 1];
    add_served(pod, served, &egresses);
    if (egresses.length == 0)
        return text_error(&egresses);
    CLEANUP(egress_client_freep) struct egress_client *client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    client->address = *address;
    client->namespace = strdup(pod->object.namespace);
    client->name = strdup(pod->object.name);
    client->egresses = text_take(&egresses);
    if (!client->namespace || !client->name || !client->egresses)
        return -ENOMEM;
    *ret_client = TAKE_PTR(client);
    return 0;
}
