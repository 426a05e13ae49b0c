// SPDX-License-Identifier: Apache-2.0
/* What a Service's status says about its addresses and its export; see service_conditions.h. */
#include "model/services/service_conditions.h"

#include <string.h>

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
static const struct field assigned_fields[] = {
    { "status", &field_text, MEMBER(struct service, assigned_status) },
    { "reason", &field_text, MEMBER(struct service, assigned_reason) },
    { "message", &field_text, MEMBER(struct service, assigned_message) },
    { "lastTransitionTime", &field_text, MEMBER(struct service, assigned_since) },
    END(NULL),
};

/* That of the exporter has one status and one reason. */
static const struct field export_fields[] = {
    { "message", &field_text, MEMBER(struct service, export_message) },
    { "lastTransitionTime", &field_text, MEMBER(struct service, export_since) },
    END(NULL),
};

/* One that is not as the exporter writes it has an empty message: the exporter puts it right. */
static void decode_export(struct decoder *decoder, const struct doc *found, struct service *service)
{
    const char *status = decode_text(decoder, doc_get(found, "status"));
    const char *reason = decode_text(decoder, doc_get(found, "reason"));
    service->export_refused = found != NULL;
    (void)fields_decode(decoder, found, export_fields, service);
    if (!text_equal(status, "False") || !text_equal(reason, SERVICE_EXPORT_REFUSED))
        service->export_message = "";
}

static DECODE_FIELD(decode_conditions, conditions)
{
    struct service *service = base;
    const struct doc *assigned = find(decoder, conditions, SERVICE_ASSIGNED);
    service->assigned = assigned != NULL;
    (void)fields_decode(decoder, assigned, assigned_fields, service);
    decode_export(decoder, find(decoder, conditions, SERVICE_EXPORTED), service);
    return true;
}

static EQUAL_FIELD(conditions_equal)
{
    const struct service *left = a, *right = b;
    return left->assigned == right->assigned && left->export_refused == right->export_refused &&
           fields_equal(assigned_fields, a, b) && fields_equal(export_fields, a, b);
}

static ENCODE_FIELD(encode_conditions)
{
    const struct service *service = base;
    if (!service->assigned && !service->export_refused)
        return;
    json_begin_array(json, field->key);
    if (service->assigned) {
        json_begin_object(json, NULL);
        json_string(json, "type", SERVICE_ASSIGNED);
        fields_encode(json, assigned_fields, service);
        json_end_object(json);
    }
    if (service->export_refused) {
        json_begin_object(json, NULL);
        json_string(json, "type", SERVICE_EXPORTED);
        json_string(json, "status", "False");
        json_string(json, "reason", SERVICE_EXPORT_REFUSED);
        fields_encode(json, export_fields, service);
        json_end_object(json);
    }
    json_end_array(json);
}

const struct field_type service_conditions_type = { decode_conditions, conditions_equal,
                                                    encode_conditions };

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
