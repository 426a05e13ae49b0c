// SPDX-License-Identifier: Apache-2.0
/*
 * The document EgressWorkloadList; see view_egress_workloads.h. How many gateways there are, leader
 * and followers know alike, by the status of Deployments; only the leader knows what can't be
 * written, since it is the one that has tried.
 */
#include "api/egress/view_egress_workloads.h"

#include "api/document.h"
#include "base/macro.h"
#include "plan/egress/workload.h"

/* What has the Egress's name, and what it shares with others. */
static const enum kind parts[] = { KIND_DEPLOYMENT, KIND_SERVICE,         KIND_DISRUPTION_BUDGET,
                                   KIND_EGRESS,     KIND_SERVICE_ACCOUNT, KIND_ROLE_BINDING };

static char *place_of(enum kind kind, const struct object *egress)
{
    if (kind == KIND_ROLE_BINDING)
        return text_format("%s %s", kind_name(kind), WORKLOAD_BINDING);
    return text_format("%s %s/%s", kind_name(kind), egress->namespace,
                       kind == KIND_SERVICE_ACCOUNT ? WORKLOAD_ACCOUNT : egress->name);
}

/* Writes what is refused of an Egress; returns how much that is. */
static size_t write_refused(struct json *json, const struct refusals *refusals,
                            const struct object *egress)
{
    size_t count = 0;
    json_begin_array(json, "refused");
    for (size_t i = 0; refusals && i < ARRAY_SIZE(parts); i++) {
        AUTOFREE char *place = place_of(parts[i], egress);
        json->out->failed |= !place;
        const struct refusal *refusal = place ? refusals_find(refusals, place) : NULL;
        if (!refusal)
            continue;
        count++;
        json_begin_object(json, NULL);
        json_string(json, "object", refusal->place);
        json_string(json, "message", refusal->message);
        json_string(json, "remedy", refusal->remedy);
        json_end_object(json);
    }
    json_end_array(json);
    return count;
}

static void write_item(struct json *json, const struct controller_state *state,
                       const struct egress *egress)
{
    const struct workload *workload = workload_of(state->store, egress);
    bool pods = egress_has_workload(egress);
    uint32_t available = workload ? workload->available_replicas : 0;
    json_begin_object(json, NULL);
    json_string(json, "namespace", egress->object.namespace);
    json_string(json, "name", egress->object.name);
    json_string(json, "gateways", pods ? "pods" : "nodes");
    json_int(json, "wanted", pods ? egress->replicas : 0);
    json_int(json, "pods", workload ? workload->replicas : 0);
    json_int(json, "available", available);
    size_t refused = write_refused(json, pods ? state->egress_refusals : NULL, &egress->object);
    json_string(json, "state",
                egress->object.deleting         ? "deleting"
                : !pods                         ? "nodes"
                : refused > 0                   ? "refused"
                : available >= egress->replicas ? "ready"
                                                : "starting");
    json_end_object(json);
}

void view_egress_workloads(const struct controller_state *state, struct text *out)
{
    AUTOVEC object_list egresses = { 0 };
    struct json json = view_begin(out, "EgressWorkloadList");
    out->failed |= store_list(state->store, KIND_EGRESS, &egresses) < 0;
    json_begin_array(&json, "items");
    vec_each(const struct object *, object, &egresses)
        write_item(&json, state, to_egress(*object));
    json_end_array(&json);
    view_end(&json);
}
