// SPDX-License-Identifier: Apache-2.0
/*
 * The condition of refused Services; see export_conditions.h. Owned by
 * controller/export/export_job.c.
 *
 * It is written by server-side apply to the subresource status, under a manager of its own: of the
 * list of conditions, which is keyed by type, only this entry is ours. It is removed by a patch
 * that names it: an apply without it would leave fields that another manager has written into it,
 * or that manager's entry of the same type. What is written depends on the Service as it was read,
 * so its resourceVersion is in the body: if the Service has changed, the API answers 409, and the
 * write is made anew. Nothing is stored here: the Service itself shows whether the condition exists
 * and is correct, so that another leader continues where this one ended.
 */
#include "controller/export/export_conditions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "controller/job_writer.h"
#include "format/json.h"
#include "model/services/service.h"
#include "status/refusals.h"

#define MANAGER "fingerpost-exports"

enum { MESSAGE_MAX = 1024 }; /* bytes; the API accepts 32 KiB, which nobody would read */

static const struct kube_writer_limits limits = {
    .queue = {
        .keys = 65536,
        .parallel = 4,
        .per_second = 50,
        .burst = 100,
        .initial_ms = 5,
        .max_ms = KUBE_WRITER_PATIENCE_MS,
    },
    .answer_ms = MINUTE_MS / 2,
};

struct export_conditions {
    const struct board *board;
    struct job_writer *writer;
    const struct export_plan *plan; /* borrowed; NULL: nothing is wanted */
    struct refusals refusals;       /* writes that the API refuses */
};

static int owner_cmp(const void *a, const void *b)
{
    const struct export_refusal *left = a, *right = b;
    return strcmp(left->owner, right->owner);
}

static const struct export_refusal *refusal_of(const struct export_plan *plan, const char *owner)
{
    const struct export_refusal key = { .owner = owner };
    return vec_find(&plan->refusals, &key, owner_cmp);
}

static const struct service *service_of(const struct export_conditions *conditions, const char *key)
{
    const char *slash = strchr(key, '/');
    AUTOFREE char *namespace = slash ? strndup(key, (size_t)(slash - key)) : NULL;
    const struct object *object =
        namespace ? store_get(conditions->board->store, KIND_SERVICE, namespace, slash + 1) : NULL;
    return object && !object->deleting ? to_service(object) : NULL;
}

/* "custom-attrs is no JSON object: correct the annotation" */
static void add_message(const struct export_refusal *refusal, struct text *out)
{
    text_addf(out, "%.*s: %.*s", MESSAGE_MAX / 2, refusal->message, MESSAGE_MAX / 2 - 2,
              refusal->remedy);
}

/* Whether the Service's status is as wanted. */
static bool is_so(const struct service *service, const struct export_refusal *refusal)
{
    AUTOTEXT struct text message = { 0 };
    if (!refusal)
        return !service->export_refused;
    add_message(refusal, &message);
    return service->export_refused && text_error(&message) == 0 &&
           strcmp(service->export_message, text_str(&message)) == 0;
}

static void write_condition(struct json *json, const struct service *service,
                            const struct export_refusal *refusal)
{
    AUTOTEXT struct text message = { 0 };
    char now[CLOCK_STRLEN];
    const int64_t now_wall_ms = clock_wall_ms();
    add_message(refusal, &message);
    json_begin_object(json, "status");
    json_begin_array(json, "conditions");
    json_begin_object(json, NULL);
    json_string(json, "type", SERVICE_EXPORTED);
    json_string(json, "status", "False");
    json_string(json, "reason", SERVICE_EXPORT_REFUSED);
    json_string(json, "message", text_str(&message));
    json_string(json, "lastTransitionTime",
                service->export_refused && *service->export_since
                    ? service->export_since
                    : clock_rfc3339(now_wall_ms, now));
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
    json->out->failed |= text_error(&message) < 0;
}

static void write_removal(struct json *json)
{
    json_begin_object(json, "status");
    json_begin_array(json, "conditions");
    json_begin_object(json, NULL);
    json_string(json, "type", SERVICE_EXPORTED);
    json_string(json, "$patch", "delete");
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
}

static void write_status(const struct service *service, const struct export_refusal *refusal,
                         struct text *body)
{
    struct json json = { .out = body };
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "v1");
    json_string(&json, "kind", "Service");
    json_begin_object(&json, "metadata");
    json_string(&json, "namespace", service->object.namespace);
    json_string(&json, "name", service->object.name);
    json_string(&json, "resourceVersion", service->object.version);
    json_end_object(&json);
    if (refusal)
        write_condition(&json, service, refusal);
    else
        write_removal(&json);
    json_end_object(&json);
}

/* There is nothing to write to it. */
static void forget_refusal(struct export_conditions *conditions, const char *key)
{
    AUTOFREE char *place = text_format("Service %s", key);
    if (place)
        refusals_end(&conditions->refusals, place);
    if (conditions->refusals.changed)
        conditions->board->wake(conditions->board->context);
}

static int make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    struct export_conditions *conditions = context;
    const struct service *service = service_of(conditions, key);
    if (!service || !conditions->plan)
        return 0;
    const struct export_refusal *refusal = refusal_of(conditions->plan, key);
    if (is_so(service, refusal)) {
        forget_refusal(conditions, key);
        return 0;
    }
    write_status(service, refusal, body);
    *write = (struct kube_write){
        .verb = refusal ? KUBE_APPLY : KUBE_STRATEGIC,
        .target = { .group = "",
                    .version = "v1",
                    .plural = "services",
                    .name = service->object.name,
                    .subresource = "status",
                    .namespace = service->object.namespace },
        .body = text_str(body),
        .manager = MANAGER,
        .force = refusal != NULL,
    };
    return text_error(body) < 0 ? -ENOMEM : 1;
}

static bool told(void *context, const char *key, const struct kube_told *told)
{
    struct export_conditions *conditions = context;
    const bool gone = told->result.outcome == KUBE_MISSING;
    AUTOFREE char *place = text_format("Service %s", key);
    if (place)
        job_write_note(&conditions->refusals, place, "its status can't be written", told, NULL);
    if (place && gone)
        refusals_end(&conditions->refusals, place);
    if (conditions->refusals.changed)
        conditions->board->wake(conditions->board->context);
    return !gone;
}

int export_conditions_new(const struct board *board, struct export_conditions **ret_conditions)
{
    CLEANUP(export_conditions_freep)
    struct export_conditions *conditions = calloc(1, sizeof(*conditions));
    if (!conditions)
        return -ENOMEM;
    conditions->board = board;
    refusals_init(&conditions->refusals);
    const struct job_writer_options options = {
        .board = board,
        .limits = &limits,
        .make = make,
        .told = told,
        .context = conditions,
    };
    int r = job_writer_new(&options, &conditions->writer);
    if (r < 0)
        return r;
    *ret_conditions = TAKE_PTR(conditions);
    return 0;
}

void export_conditions_free(struct export_conditions *conditions)
{
    if (!conditions)
        return;
    job_writer_free(conditions->writer);
    refusals_done(&conditions->refusals);
    free(conditions);
}

void export_conditions_lead(struct export_conditions *conditions, bool leading)
{
    conditions->plan = NULL;
    refusals_clear(&conditions->refusals);
    job_writer_lead(conditions->writer, leading);
}

int export_conditions_want(struct export_conditions *conditions, const struct export_plan *plan)
{
    const struct object *object;
    conditions->plan = plan;
    for (size_t cursor = 0;
         (object = store_next(conditions->board->store, KIND_SERVICE, &cursor));) {
        AUTOFREE char *key = text_format("%s/%s", object->namespace, object->name);
        if (!key)
            return -ENOMEM;
        if (object->deleting || is_so(to_service(object), refusal_of(plan, key)))
            continue;
        int r = job_writer_add(conditions->writer, key);
        if (r < 0)
            return r == -ENOBUFS ? 0 : r; /* the rest is added with the next plan */
    }
    return 0;
}

bool export_conditions_faults(struct export_conditions *conditions, struct faults *faults)
{
    if (!conditions->refusals.changed)
        return false;
    refusals_faults(&conditions->refusals, faults);
    return true;
}

void export_conditions_publish(const struct export_conditions *conditions,
                               struct write_status *status)
{
    job_writer_publish(conditions->writer, status);
}
