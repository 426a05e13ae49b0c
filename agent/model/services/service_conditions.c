// SPDX-License-Identifier: Apache-2.0
/* What a Service's status says about its addresses and its export; see service_conditions.h. */
#include "model/services/service_conditions.h"

#include <string.h>

#include "model/fields/encode_member.h"
#include "model/fields/equal.h"

static const struct doc *find(struct decoder *decoder, const struct doc *conditions,
                              const char *type)
{
    const struct doc *found = NULL;
    doc_each(condition, decode_list(decoder, conditions)) {
        const char *own = decode_text(decoder, doc_get(condition, "type"));
        if (own && strcmp(own, type) == 0)
            found = condition;
    }
    return found;
}

/* The condition of whoever gives addresses; its words are "" where it is not there. */
static void decode_assigned(struct decoder *decoder, const struct doc *found,
                            struct service *service)
{
    service->assigned = found != NULL;
    service->assigned_status = decode_string(decoder, doc_get(found, "status"));
    service->assigned_reason = decode_string(decoder, doc_get(found, "reason"));
    service->assigned_message = decode_string(decoder, doc_get(found, "message"));
    service->assigned_since = decode_string(decoder, doc_get(found, "lastTransitionTime"));
}

/* One that is not as the exporter writes it has an empty message: the exporter puts it right. */
static void decode_export(struct decoder *decoder, const struct doc *found, struct service *service)
{
    const char *status = decode_string(decoder, doc_get(found, "status"));
    const char *reason = decode_string(decoder, doc_get(found, "reason"));
    bool ours = strcmp(status, "False") == 0 && strcmp(reason, SERVICE_EXPORT_REFUSED) == 0;
    service->export_refused = found != NULL;
    service->export_message = ours ? decode_string(decoder, doc_get(found, "message")) : "";
    service->export_since = decode_string(decoder, doc_get(found, "lastTransitionTime"));
}

void service_conditions_decode(struct decoder *decoder, const struct doc *status,
                               struct service *service)
{
    const struct doc *conditions = doc_get(status, "conditions");
    decode_assigned(decoder, find(decoder, conditions, SERVICE_ASSIGNED), service);
    decode_export(decoder, find(decoder, conditions, SERVICE_EXPORTED), service);
}

/* Times of the API have one form, so that they compare as text. */
const char *service_status_writer(struct decoder *decoder, const struct doc *metadata)
{
    const char *last = "", *writer = "";
    doc_each(entry, decode_list(decoder, doc_get(metadata, "managedFields"))) {
        const char *part = decode_text(decoder, doc_get(entry, "subresource"));
        const char *manager = decode_text(decoder, doc_get(entry, "manager"));
        const char *time = decode_text(decoder, doc_get(entry, "time"));
        if (!part || strcmp(part, "status") != 0 || !manager ||
            strcmp(manager, SERVICE_MANAGER) == 0 || !time || strcmp(time, last) < 0)
            continue;
        last = time;
        writer = manager;
    }
    return *writer ? decode_keep(decoder, writer) : "";
}

bool service_conditions_equal(const struct service *a, const struct service *b)
{
    return a->assigned == b->assigned && text_equal(a->assigned_status, b->assigned_status) &&
           text_equal(a->assigned_reason, b->assigned_reason) &&
           text_equal(a->assigned_message, b->assigned_message) &&
           text_equal(a->assigned_since, b->assigned_since) &&
           a->export_refused == b->export_refused &&
           text_equal(a->export_message, b->export_message) &&
           text_equal(a->export_since, b->export_since);
}

struct condition {
    const char *type, *status, *reason, *message, *since;
};

static void encode(struct json *json, const struct condition *condition)
{
    json_begin_object(json, NULL);
    json_string(json, "type", condition->type);
    encode_text(json, "status", condition->status);
    encode_text(json, "reason", condition->reason);
    encode_text(json, "message", condition->message);
    encode_text(json, "lastTransitionTime", condition->since);
    json_end_object(json);
}

void service_conditions_encode(const struct service *service, struct json *json)
{
    const struct condition assigned = { SERVICE_ASSIGNED, service->assigned_status,
                                        service->assigned_reason, service->assigned_message,
                                        service->assigned_since };
    const struct condition exported = { SERVICE_EXPORTED, "False", SERVICE_EXPORT_REFUSED,
                                        service->export_message, service->export_since };
    if (!service->assigned && !service->export_refused)
        return;
    json_begin_array(json, "conditions");
    if (service->assigned)
        encode(json, &assigned);
    if (service->export_refused)
        encode(json, &exported);
    json_end_array(json);
}
