// SPDX-License-Identifier: Apache-2.0
/*
 * The objects of an Egress, as they are applied; called by workload.c.
 *
 * They have the fields of the Egress and those of Coil's rules, and no others: other fields are
 * left to other managers. Because of the API's defaults one field must be written although it is
 * empty: a Deployment that becomes "Recreate" still has the default for rolling updates, and is
 * refused unless that is explicitly removed.
 */
#include <string.h>

#include "base/net/tunnel.h"
#include "plan/egress/workload_parts.h"

void workload_begin(struct json *json, const struct workload_key *key, const struct object *there)
{
    json_begin_object(json, NULL);
    json_string(json, "apiVersion", kind_api_version(key->kind));
    json_string(json, "kind", kind_name(key->kind));
    json_begin_object(json, "metadata");
    if (*key->namespace)
        json_string(json, "namespace", key->namespace);
    json_string(json, "name", key->name);
    if (there) {
        json_string(json, "uid", there->uid);
        json_string(json, "resourceVersion", there->version);
    }
}

void workload_labels_write(struct json *json, const struct egress *egress)
{
    json_string(json, WORKLOAD_NAME_LABEL, WORKLOAD_NAME);
    json_string(json, WORKLOAD_INSTANCE_LABEL, egress->object.name);
    json_string(json, WORKLOAD_COMPONENT_LABEL, WORKLOAD_COMPONENT);
}

static void write_labels(struct json *json, const char *key, const struct egress *egress)
{
    json_begin_object(json, key);
    workload_labels_write(json, egress);
    json_end_object(json);
}

static void write_selector(struct json *json, const struct egress *egress)
{
    json_begin_object(json, "selector");
    write_labels(json, "matchLabels", egress);
    json_end_object(json);
}

static void write_owner(struct json *json, const struct object *egress)
{
    json_begin_array(json, "ownerReferences");
    json_begin_object(json, NULL);
    json_string(json, "apiVersion", kind_api_version(KIND_EGRESS));
    json_string(json, "kind", kind_name(KIND_EGRESS));
    json_string(json, "name", egress->name);
    json_string(json, "uid", egress->uid);
    json_bool(json, "controller", true);
    json_bool(json, "blockOwnerDeletion", true);
    json_end_object(json);
    json_end_array(json);
}

static void write_deployment(struct json *json, const struct egress *egress,
                             const struct doc *pod_template, const char *image)
{
    json_int(json, "replicas", egress->replicas);
    write_selector(json, egress);
    if (egress->strategy)
        json_raw(json, "strategy", egress->strategy);
    workload_pod_write(json, egress, pod_template, image);
}

static void write_service(struct json *json, const struct egress *egress)
{
    json_string(json, "type", "ClusterIP");
    json_string(json, "ipFamilyPolicy", "PreferDualStack");
    write_labels(json, "selector", egress);
    json_begin_array(json, "ports");
    json_begin_object(json, NULL);
    json_string(json, "protocol", "UDP");
    json_int(json, "port", TUNNEL_PORT);
    json_int(json, "targetPort", TUNNEL_PORT);
    json_end_object(json);
    json_end_array(json);
    json_string(json, "sessionAffinity", egress->by_client ? "ClientIP" : "None");
    if (egress->by_client && egress->affinity_config)
        json_raw(json, "sessionAffinityConfig", egress->affinity_config);
}

static void write_budget(struct json *json, const struct egress *egress)
{
    if (egress->min_available)
        json_raw(json, "minAvailable", egress->min_available);
    if (egress->max_unavailable)
        json_raw(json, "maxUnavailable", egress->max_unavailable);
    write_selector(json, egress);
}

void workload_write(const struct workload_key *key, const struct egress *egress,
                    const struct doc *pod_template, const char *image, const struct object *there,
                    struct text *out)
{
    struct json json = { .out = out };
    workload_begin(&json, key, there);
    write_labels(&json, "labels", egress);
    write_owner(&json, &egress->object);
    json_end_object(&json);
    json_begin_object(&json, "spec");
    if (key->kind == KIND_DEPLOYMENT)
        write_deployment(&json, egress, pod_template, image);
    else if (key->kind == KIND_SERVICE)
        write_service(&json, egress);
    else
        write_budget(&json, egress);
    json_end_object(&json);
    json_end_object(&json);
}
