// SPDX-License-Identifier: Apache-2.0
/* What a Service's status says about the giving of its addresses; see service_assigned.h. */
#include "model/service_assigned.h"

#include <string.h>

#include "model/encode_member.h"
#include "model/equal.h"

/* The condition of whoever gives addresses; its words are "" where it is not there. */
void service_assigned_decode(struct decoder *decoder, const struct doc *status,
                             struct service *service)
{
    const struct doc *found = NULL;
    doc_each(condition, decode_list(decoder, doc_get(status, "conditions"))) {
        const char *type = decode_text(decoder, doc_get(condition, "type"));
        if (type && strcmp(type, SERVICE_ASSIGNED) == 0)
            found = condition;
    }
    service->assigned = found != NULL;
    service->assigned_status = decode_string(decoder, doc_get(found, "status"));
    service->assigned_reason = decode_string(decoder, doc_get(found, "reason"));
    service->assigned_message = decode_string(decoder, doc_get(found, "message"));
    service->assigned_since = decode_string(decoder, doc_get(found, "lastTransitionTime"));
}

bool service_assigned_equal(const struct service *a, const struct service *b)
{
    return a->assigned == b->assigned && text_equal(a->assigned_status, b->assigned_status) &&
           text_equal(a->assigned_reason, b->assigned_reason) &&
           text_equal(a->assigned_message, b->assigned_message) &&
           text_equal(a->assigned_since, b->assigned_since);
}

void service_assigned_encode(const struct service *service, struct json *json)
{
    if (!service->assigned)
        return;
    json_begin_array(json, "conditions");
    json_begin_object(json, NULL);
    json_string(json, "type", SERVICE_ASSIGNED);
    encode_text(json, "status", service->assigned_status);
    encode_text(json, "reason", service->assigned_reason);
    encode_text(json, "message", service->assigned_message);
    encode_text(json, "lastTransitionTime", service->assigned_since);
    json_end_object(json);
    json_end_array(json);
}
