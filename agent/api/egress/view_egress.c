// SPDX-License-Identifier: Apache-2.0
/*
 * Egress as JSON: which pods have which policies, what these say, the gateways of each Egress, what
 * stays in the cluster, and on a gateway who its clients are. Used by the Plan document.
 */
#include "api/egress/view_egress.h"

#include <string.h>

#include "base/vec.h"
#include "plan/egress/egress_names.h"

static void write_list(struct json *json, const char *key, const char *list)
{
    struct egress_item item;
    json_begin_array(json, key);
    while (egress_list_next(&list, &item))
        json_stringf(json, NULL, "%s/%s", item.namespace, item.name);
    json_end_array(json);
}

static void write_address(struct json *json, const char *key, const struct ip *address)
{
    char buffer[IP_STRLEN];
    json_string(json, key, ip_str(address, buffer));
}

static void write_prefix(struct json *json, const char *key, const struct prefix *prefix)
{
    char buffer[PREFIX_STRLEN];
    json_string(json, key, prefix_str(prefix, buffer));
}

static void write_key(struct json *json, const struct egress_policy_key *key)
{
    json_int(json, "family", key->family);
    write_list(json, "egresses", key->egresses);
    json_bool(json, "waiting", key->waiting);
}

static void write_pod(struct json *json, const struct egress_pod *pod)
{
    json_begin_object(json, NULL);
    write_address(json, "address", &pod->address);
    json_string(json, "namespace", pod->namespace);
    json_string(json, "name", pod->name);
    if (pod->is_client) {
        json_begin_object(json, "policy");
        write_key(json, &pod->policy);
        json_end_object(json);
    } else {
        json_null(json, "policy");
    }
    json_end_object(json);
}

static void write_policy(struct json *json, const struct egress_policy *policy)
{
    json_begin_object(json, NULL);
    write_key(json, &policy->key);
    json_begin_array(json, "destinations");
    vec_each(const struct egress_entry, entry, &policy->entries) {
        json_begin_object(json, NULL);
        write_prefix(json, "prefix", &entry->destination);
        json_string(json, "egress", entry->egress);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void write_set(struct json *json, const struct egress_set *set)
{
    json_begin_object(json, NULL);
    json_string(json, "egress", set->egress);
    json_int(json, "family", set->family);
    json_string(json, "affinity", set->by_client ? "client" : "flow");
    json_bool(json, "sourcePortAuto", set->source_port_auto);
    json_begin_array(json, "gateways");
    vec_each(const struct egress_gateway, gateway, &set->gateways) {
        json_begin_object(json, NULL);
        write_address(json, "address", &gateway->address);
        json_string(json, "state", egress_gateway_state_name(gateway->state));
        json_string(json, "node", gateway->node);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void write_gateway(struct json *json, const struct egress_plan *plan)
{
    if (!plan->served) {
        json_null(json, "gateway");
        return;
    }
    json_begin_object(json, "gateway");
    write_list(json, "serves", plan->served);
    json_begin_array(json, "clients");
    sorted_each(struct egress_client *const, client, &plan->clients) {
        json_begin_object(json, NULL);
        write_address(json, "address", &(*client)->address);
        json_string(json, "namespace", (*client)->namespace);
        json_string(json, "name", (*client)->name);
        write_list(json, "egresses", (*client)->egresses);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

struct pod_name {
    const char *namespace, *name;
};
typedef VEC(struct pod_name) pod_names;

static int pod_name_cmp(const void *a, const void *b)
{
    const struct pod_name *left = a, *right = b;
    int order = strcmp(left->namespace, right->namespace);
    return order ? order : strcmp(left->name, right->name);
}

/* How many pods there are: one with an address of each family stands there twice. */
static int64_t count_names(pod_names *names)
{
    vec_sort(names, pod_name_cmp);
    vec_drop_equal(names, pod_name_cmp);
    return (int64_t)names->count;
}

static int64_t count_pods(const struct egress_plan *plan)
{
    AUTOVEC pod_names names = { 0 };
    sorted_each(struct egress_pod *const, it, &plan->pods) {
        const struct egress_pod *pod = *it;
        if (pod->is_client && vec_push(&names, (struct pod_name){ pod->namespace, pod->name }) < 0)
            break;
    }
    return count_names(&names);
}

static int64_t count_clients(const struct egress_plan *plan)
{
    AUTOVEC pod_names names = { 0 };
    sorted_each(struct egress_client *const, client, &plan->clients) {
        if (vec_push(&names, (struct pod_name){ (*client)->namespace, (*client)->name }) < 0)
            break;
    }
    return count_names(&names);
}

/* Gateways of one Egress: an address of each family is one gateway, where both are there. */
static int64_t count_gateways(const struct egress_plan *plan)
{
    int64_t count = 0, before = 0;
    const char *egress = "";
    sorted_each(struct egress_set *const, it, &plan->sets) {
        const struct egress_set *set = *it;
        const int64_t here = (int64_t)set->gateways.count;
        const bool other_family = strcmp(egress, set->egress) == 0;
        count += other_family ? (here > before ? here - before : 0) : here;
        egress = set->egress;
        before = here;
    }
    return count;
}

void write_egress_status(struct json *json, const struct api_state *state)
{
    const struct egress_plan *plan = state->egress;

    if (!plan || (!state->config->egress.enabled && !plan->served)) {
        json_null(json, "egress");
        return;
    }
    json_begin_object(json, "egress");
    json_int(json, "pods", count_pods(plan));
    json_int(json, "gateways", count_gateways(plan));
    json_bool(json, "gateway", plan->served);
    json_int(json, "clients", count_clients(plan));
    json_end_object(json);
}

void write_egress(struct json *json, const struct config *config, const struct egress_plan *plan)
{
    if (!plan || (!config->egress.enabled && !plan->served)) {
        json_null(json, "egress");
        return;
    }
    json_begin_object(json, "egress");
    json_begin_array(json, "pods");
    sorted_each(struct egress_pod *const, pod, &plan->pods)
        write_pod(json, *pod);
    json_end_array(json);
    json_begin_array(json, "policies");
    sorted_each(struct egress_policy *const, policy, &plan->policies)
        write_policy(json, *policy);
    json_end_array(json);
    json_begin_array(json, "sets");
    sorted_each(struct egress_set *const, set, &plan->sets)
        write_set(json, *set);
    json_end_array(json);
    json_begin_array(json, "stays");
    vec_each(const struct prefix, exclusion, &plan->excluded)
        write_prefix(json, NULL, exclusion);
    json_end_array(json);
    write_gateway(json, plan);
    json_end_object(json);
}
