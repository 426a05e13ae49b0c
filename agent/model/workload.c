// SPDX-License-Identifier: Apache-2.0
/*
 * What is made for Egresses: from a document, compared, and written back. Deployments and budgets
 * of others are read as well, since they may have a name that an Egress asks for; of these nothing
 * but the name is kept.
 */
#include "model/workload.h"

#include <string.h>

#include "model/fields/decode.h"
#include "model/fields/digest.h"
#include "model/fields/encode_member.h"
#include "model/fields/equal.h"
#include "model/kind.h"

static void decode_status(struct decoder *decoder, const struct doc *root,
                          struct workload *workload)
{
    const struct doc *status = decode_map(decoder, doc_get(root, "status"));
    workload->replicas =
        (uint32_t)decode_int(decoder, doc_get(status, "replicas"), 0, INT32_MAX, 0);
    workload->available_replicas =
        (uint32_t)decode_int(decoder, doc_get(status, "availableReplicas"), 0, INT32_MAX, 0);
}

static void decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct workload *workload = (struct workload *)object;
    const char *managed = decode_label(decoder, WORKLOAD_MANAGED_LABEL), *egress;
    bool of_egress = decode_is_of_egress(decoder, object, &egress);
    workload->egress = decode_keep(decoder, egress);
    workload->managed = managed && strcmp(managed, WORKLOAD_MANAGED) == 0;
    if (!of_egress && !workload->managed)
        return;
    workload->digest = decode_digest(decoder);
    if (object->kind == KIND_DEPLOYMENT)
        decode_status(decoder, root, workload);
}

static bool equal(const struct object *a, const struct object *b)
{
    const struct workload *left = to_workload(a), *right = to_workload(b);
    return left->digest == right->digest && text_equal(left->egress, right->egress) &&
           left->managed == right->managed && left->replicas == right->replicas &&
           left->available_replicas == right->available_replicas;
}

static void encode_labels(const struct object *object, struct json *json)
{
    const struct workload *workload = to_workload(object);
    json_begin_object(json, "labels");
    if (workload->egress) {
        json_string(json, WORKLOAD_NAME_LABEL, WORKLOAD_NAME);
        json_string(json, WORKLOAD_COMPONENT_LABEL, WORKLOAD_COMPONENT);
        json_string(json, WORKLOAD_INSTANCE_LABEL, workload->egress);
    }
    if (workload->managed)
        json_string(json, WORKLOAD_MANAGED_LABEL, WORKLOAD_MANAGED);
    json_end_object(json);
}

static void encode_rest(const struct object *object, struct json *json)
{
    const struct workload *workload = to_workload(object);
    encode_digest(json, workload->digest);
    json_begin_object(json, "status");
    encode_number(json, "replicas", workload->replicas);
    encode_number(json, "availableReplicas", workload->available_replicas);
    json_end_object(json);
}

#define WORKLOAD_KIND(constant, version, kind, in_namespace) \
    const struct kind_row constant = {                       \
        .api_version = (version),                            \
        .name = (kind),                                      \
        .namespaced = (in_namespace),                        \
        .api_only = true,                                    \
        .identified = true,                                  \
        .size = sizeof(struct workload),                     \
        .decode = decode,                                    \
        .equal = equal,                                      \
        .encode_metadata = encode_labels,                    \
        .encode_rest = encode_rest,                          \
    }

WORKLOAD_KIND(deployment_kind, "apps/v1", "Deployment", true);
WORKLOAD_KIND(disruption_budget_kind, "policy/v1", "PodDisruptionBudget", true);
WORKLOAD_KIND(service_account_kind, "v1", "ServiceAccount", true);
WORKLOAD_KIND(role_binding_kind, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", false);
