// SPDX-License-Identifier: Apache-2.0
/* The body of an Event, and its create. The API accepts 1,024 bytes of note and 128 of instance. */
#include "client/kube/kube_event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/siphash.h"
#include "format/json.h"

const char *kube_event_name(const char *subject, const char *cause,
                            char buffer[static KUBE_EVENT_NAME_MAX + 1])
{
    static const uint8_t key[16] = "fingerpost lacks";
    (void)snprintf(buffer, KUBE_EVENT_NAME_MAX + 1, "%.200s.%016" PRIx64, subject,
                   siphash(cause, strlen(cause), key));
    return buffer;
}

/* The API requires microseconds; the clock here has milliseconds. */
static void write_time(struct json *json, int64_t wall_ms)
{
    char time[CLOCK_STRLEN];
    json_stringf(json, "eventTime", "%.23s000Z", clock_rfc3339_ms(wall_ms, time));
}

void kube_event_write(const struct kube_event *event, int64_t now_wall_ms, struct text *out)
{
    struct json json = { .out = out };
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "events.k8s.io/v1");
    json_string(&json, "kind", "Event");
    json_begin_object(&json, "metadata");
    json_string(&json, "namespace", event->namespace);
    json_string(&json, "name", event->name);
    json_end_object(&json);
    write_time(&json, now_wall_ms);
    json_string(&json, "type", "Warning");
    json_string(&json, "reason", event->reason);
    json_string(&json, "action", event->action);
    json_stringf(&json, "note", "%.1000s", event->note);
    json_string(&json, "reportingController", event->controller);
    json_stringf(&json, "reportingInstance", "%.128s", event->instance);
    json_begin_object(&json, "regarding");
    json_string(&json, "apiVersion", event->subject.api_version);
    json_string(&json, "kind", event->subject.kind);
    json_string(&json, "namespace", event->namespace);
    json_string(&json, "name", event->subject.name);
    json_string(&json, "uid", event->subject.uid);
    json_end_object(&json);
    json_end_object(&json);
}

struct kube_write kube_event_create(const char *namespace, const char *name)
{
    return (struct kube_write){
        .verb = KUBE_CREATE,
        .target = { .group = "events.k8s.io",
                    .version = "v1",
                    .plural = "events",
                    .namespace = namespace,
                    .name = name },
        .repeatable = true,
    };
}
