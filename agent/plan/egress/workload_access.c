// SPDX-License-Identifier: Apache-2.0
/*
 * ServiceAccounts of gateways, and their role; called by workload.c.
 *
 * An account stays as long as a Deployment needs it, also if its Egress can no longer be decoded:
 * otherwise running gateways would lose access to the API. A user who can create a pod in the
 * namespace can use the account, so its role is read-only.
 */
#include <string.h>

#include "base/macro.h"
#include "plan/egress/workload_parts.h"

static bool is_deployment_of_egress(const struct object *object)
{
    const struct object_owner *owner = object_controller(object);
    return to_workload(object)->egress || (owner && strcmp(owner->kind, "Egress") == 0);
}

static bool needs(const struct object *object)
{
    return object->kind == KIND_EGRESS ? !object->deleting && egress_has_workload(to_egress(object))
                                       : is_deployment_of_egress(object);
}

static const enum kind needing[] = { KIND_EGRESS, KIND_DEPLOYMENT };

bool workload_needs_account(const struct store *store, const char *namespace)
{
    for (size_t i = 0; i < ARRAY_SIZE(needing); i++) {
        const struct object *object;
        for (size_t cursor = 0; (object = store_next(store, needing[i], &cursor));) {
            if (strcmp(object->namespace, namespace) == 0 && needs(object))
                return true;
        }
    }
    return false;
}

static int name_cmp(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int workload_namespaces(const struct store *store, workload_names *ret_names)
{
    for (size_t i = 0; i < ARRAY_SIZE(needing); i++) {
        const struct object *object;
        for (size_t cursor = 0; (object = store_next(store, needing[i], &cursor));) {
            int r = needs(object) ? vec_push(ret_names, object->namespace) : 0;
            if (r < 0)
                return r;
        }
    }
    size_t kept = 0;
    vec_sort(ret_names, name_cmp);
    for (size_t i = 0; i < ret_names->count; i++) {
        if (kept == 0 || strcmp(ret_names->items[kept - 1], ret_names->items[i]) != 0)
            ret_names->items[kept++] = ret_names->items[i];
    }
    ret_names->count = kept;
    return 0;
}

static void write_role(struct json *json)
{
    json_begin_object(json, "roleRef");
    json_string(json, "apiGroup", "rbac.authorization.k8s.io");
    json_string(json, "kind", "ClusterRole");
    json_string(json, "name", WORKLOAD_ROLE);
    json_end_object(json);
}

static void write_subjects(struct json *json, const workload_names *namespaces)
{
    json_begin_array(json, "subjects");
    vec_each(const char *const, namespace, namespaces) {
        json_begin_object(json, NULL);
        json_string(json, "kind", "ServiceAccount");
        json_string(json, "name", WORKLOAD_ACCOUNT);
        json_string(json, "namespace", *namespace);
        json_end_object(json);
    }
    json_end_array(json);
}

void workload_access_write(const struct workload_key *key, const workload_names *namespaces,
                           const struct object *there, struct text *out)
{
    struct json json = { .out = out };
    workload_begin(&json, key, there);
    json_begin_object(&json, "labels");
    json_string(&json, WORKLOAD_MANAGED_LABEL, WORKLOAD_MANAGED);
    json_end_object(&json);
    json_end_object(&json);
    if (key->kind == KIND_ROLE_BINDING) {
        write_role(&json);
        write_subjects(&json, namespaces);
    }
    json_end_object(&json);
}
