// SPDX-License-Identifier: Apache-2.0
/*
 * What is made for Egresses: from a document, compared, and written back. Deployments and budgets
 * of others are read as well, since they may have a name that an Egress asks for; of these nothing
 * but the name is kept.
 */
#include "model/workload.h"

#include <string.h>

#include "model/fields/digest.h"
#include "model/fields/equal.h"
#include "model/kind.h"

static DECODE_FIELD(decode_ours, labels)
{
    struct workload *workload = base;
    const char *managed = decode_label(decoder, WORKLOAD_MANAGED_LABEL), *egress;
    bool of_egress = decode_is_of_egress(decoder, &workload->object, &egress);
    workload->egress = decode_keep(decoder, egress);
    workload->managed = managed && strcmp(managed, WORKLOAD_MANAGED) == 0;
    if (of_egress || workload->managed)
        workload->digest = decode_digest(decoder);
    return true;
}

static EQUAL_FIELD(ours_equal)
{
    return text_equal(to_workload(a)->egress, to_workload(b)->egress) &&
           to_workload(a)->managed == to_workload(b)->managed;
}

static ENCODE_FIELD(encode_ours)
{
    const struct workload *workload = base;
    if (workload->egress) {
        json_string(json, WORKLOAD_NAME_LABEL, WORKLOAD_NAME);
        json_string(json, WORKLOAD_COMPONENT_LABEL, WORKLOAD_COMPONENT);
        json_string(json, WORKLOAD_INSTANCE_LABEL, workload->egress);
    }
    if (workload->managed)
        json_string(json, WORKLOAD_MANAGED_LABEL, WORKLOAD_MANAGED);
}

static const struct field_type ours_type = { decode_ours, ours_equal, encode_ours };
static const struct field labels[] = { { NULL, &ours_type }, END(NULL) };

/* Of a Deployment of ours. */
static DECODE_FIELD(decode_status, node)
{
    const struct workload *workload = base;
    return !workload->digest || workload->object.kind != KIND_DEPLOYMENT ||
           field_map.decode(decoder, node, field, base);
}

static const struct field status[] = {
    { "replicas", &field_number, MEMBER(struct workload, replicas), .max = INT32_MAX },
    { "availableReplicas", &field_number, MEMBER(struct workload, available_replicas),
      .max = INT32_MAX },
    END(NULL),
};

static const struct field fields[] = {
    { NULL, &field_digest, MEMBER(struct workload, digest) },
    { "status", &field_map, .fields = status, .decode = decode_status },
    END(NULL),
};

#define WORKLOAD_KIND(constant, version, kind, in_namespace) \
    const struct kind_row constant = {                       \
        .api_version = (version),                            \
        .name = (kind),                                      \
        .namespaced = (in_namespace),                        \
        .api_only = true,                                    \
        .identified = true,                                  \
        .size = sizeof(struct workload),                     \
        .labels = labels,                                    \
        .fields = fields,                                    \
    }

WORKLOAD_KIND(deployment_kind, "apps/v1", "Deployment", true);
WORKLOAD_KIND(disruption_budget_kind, "policy/v1", "PodDisruptionBudget", true);
WORKLOAD_KIND(service_account_kind, "v1", "ServiceAccount", true);
WORKLOAD_KIND(role_binding_kind, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", false);
