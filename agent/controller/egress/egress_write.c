// SPDX-License-Identifier: Apache-2.0
/*
 * The writes of the egress job, and their outcomes.
 *
 * A key is an object that may have to be written: "Deployment/NAMESPACE/NAME"; an Egress is written
 * for its status. The body is made from the state when the key is due (plan/egress/workload.h).
 *
 * Server-side apply, under a field manager of our own: fields of other managers stay theirs. It is
 * forced where the object is known to be ours, so that an edit by hand is reverted; a create is
 * not, so that an object that has just got the name is not overwritten. Each write has a
 * precondition: the uid and the resourceVersion of the existing object.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "controller/egress/egress_inside.h"
#include "controller/egress/egress_marks.h"
#include "model/fields/digest.h"
#include "plan/egress/workload.h"

#define MANAGER "fingerpost-egress"

enum {
    TRIES_UNTOLD = 5,
    TELLING_MS = 1500, /* the source reports an apply within this; less than the delay of a check */
};

static const struct written {
    enum kind kind;
    const char *group, *version, *plural, *subresource;
} written[] = {
    { KIND_DEPLOYMENT, "apps", "v1", "deployments", NULL },
    { KIND_SERVICE, "", "v1", "services", NULL },
    { KIND_DISRUPTION_BUDGET, "policy", "v1", "poddisruptionbudgets", NULL },
    { KIND_SERVICE_ACCOUNT, "", "v1", "serviceaccounts", NULL },
    { KIND_ROLE_BINDING, "rbac.authorization.k8s.io", "v1", "clusterrolebindings", NULL },
    { KIND_EGRESS, "coil.cybozu.com", "v2", "egresses", "status" },
};

char *egress_key(enum kind kind, const char *namespace, const char *name)
{
    return text_format("%s/%s/%s", kind_name(kind), namespace, name);
}

int egress_add(struct egress_job *job, enum kind kind, const char *namespace, const char *name)
{
    AUTOFREE char *key = egress_key(kind, namespace, name);
    return key ? job_writer_add(job->job.writers[EGRESS_OBJECTS], key) : -ENOMEM;
}

static const struct written *written_of(enum kind kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
        if (written[i].kind == kind)
            return &written[i];
    }
    return NULL;
}

bool egress_split(const char *key, char buffer[static EGRESS_KEY_MAX], struct workload_key *ret_key)
{
    (void)snprintf(buffer, EGRESS_KEY_MAX, "%s", key);
    char *namespace = strchr(buffer, '/'), *name = namespace ? strchr(namespace + 1, '/') : NULL;
    if (!name)
        return false;
    *namespace ++ = *name++ = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
        if (strcmp(kind_name(written[i].kind), buffer) != 0)
            continue;
        *ret_key = (struct workload_key){ written[i].kind, namespace, name };
        return true;
    }
    return false;
}

const struct object *egress_object(const struct egress_job *job, const char *key)
{
    char buffer[EGRESS_KEY_MAX];
    struct workload_key parts;
    return egress_split(key, buffer, &parts)
               ? store_get(job->job.board->store, parts.kind, parts.namespace, parts.name)
               : NULL;
}

char *egress_place(const struct workload_key *key)
{
    return text_format("%s %s%s%s", kind_name(key->kind), key->namespace,
                       *key->namespace ? "/" : "", key->name);
}

void egress_note(struct egress_job *job, const struct workload_key *key, const char *message,
                 const char *remedy)
{
    AUTOFREE char *place = egress_place(key);
    AUTOFREE char *text = egress_key(key->kind, key->namespace, key->name);
    if (place && text && message && refusals_note(&job->refusals, place, message, remedy))
        (void)job_writer_add(job->job.writers[EGRESS_EVENTS], text);
    else if (place && !message)
        refusals_end(&job->refusals, place);
    if (job->refusals.changed)
        job->job.board->wake(job->job.board->context);
}

/* ---- Writes ---- */

static struct kube_write write_of(const struct written *row, const struct workload_key *key,
                                  enum kube_verb verb)
{
    static char namespace[64], name[256]; /* borrowed until the next call */
    (void)snprintf(namespace, sizeof(namespace), "%s", key->namespace);
    (void)snprintf(name, sizeof(name), "%s", key->name);
    return (struct kube_write){
        .verb = verb,
        .target = { .group = row->group,
                    .version = row->version,
                    .plural = row->plural,
                    .namespace = *namespace ? namespace : NULL,
                    .name = name,
                    .subresource = row->subresource },
        .manager = MANAGER,
    };
}

static int make_status(const struct egress_job *job, const struct workload_key *key,
                       struct text *body)
{
    const struct object *object =
        store_get(job->job.board->store, KIND_EGRESS, key->namespace, key->name);
    return object ? plan_workload_status(job->job.board->store, to_egress(object), body) : 0;
}

static int make_object(struct egress_job *job, const struct written *row,
                       const struct workload_key *key, const char *text, struct kube_write *write,
                       struct text *body)
{
    struct workload_mark mark = *egress_mark(&job->marks, text);
    mark.doubted = mark.applied_ms && clock_mono_ms() - mark.applied_ms >= TELLING_MS;
    struct workload_plan plan;
    const struct controller_config *config = job->job.board->config;
    const struct workload_settings settings = { config->egress.image,
                                                config->egress.template_allowed };
    int r = plan_workload(job->job.board->store, key, &settings, &mark, body, &plan);
    if (r < 0)
        return r;
    switch (plan.step) { /* a refusal is reported until another try is answered */
    case WORKLOAD_NOTHING:
        egress_note(job, key, NULL, NULL);
        return 0;
    case WORKLOAD_WRONG:
        egress_note(job, key, plan.why, plan.remedy);
        return 0;
    case WORKLOAD_DELETE:
        *write = write_of(row, key, KUBE_DELETE);
        write->uid = plan.there->uid;
        write->version = plan.there->version;
        return 1;
    case WORKLOAD_APPLY:
        *write = write_of(row, key, KUBE_APPLY);
        write->force = plan.there != NULL;
        mark.wanted = plan.wanted;
        mark.applied_ms = 0;
        mark.digest = 0; /* until the answer, its state is unknown */
        egress_mark_set(&job->marks, text, &mark);
        return 1;
    }
    return 0;
}

int egress_make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    struct egress_job *job = context;
    char buffer[EGRESS_KEY_MAX];
    struct workload_key parts;
    if (!egress_split(key, buffer, &parts))
        return 0;
    const struct written *row = written_of(parts.kind);
    if (parts.kind != KIND_EGRESS) {
        int r = make_object(job, row, &parts, key, write, body);
        if (r > 0 && write->verb == KUBE_APPLY)
            write->body = text_str(body);
        return r;
    }
    *write = write_of(row, &parts, KUBE_APPLY);
    write->force = true;
    int r = make_status(job, &parts, body);
    if (r == 0) /* the refused write is not wanted any more, or not needed */
        egress_note(job, &parts, NULL, NULL);
    write->body = text_str(body);
    return r;
}

/* ---- Outcomes ---- */

void egress_take(const struct doc *metadata, const char *member, char *buffer, size_t size)
{
    const struct doc *node = doc_get(metadata, member);
    (void)snprintf(buffer, size, "%s", node && node->type == DOC_SCALAR ? node->text : "");
}

/* The applied state is the object in the API's answer. */
static void set_mark(struct egress_job *job, const char *key, const struct doc *object)
{
    struct workload_mark mark = *egress_mark(&job->marks, key);
    const struct doc *metadata = doc_get(object, "metadata");
    egress_take(metadata, "uid", mark.uid, sizeof(mark.uid));
    egress_take(metadata, "resourceVersion", mark.version, sizeof(mark.version));
    mark.digest = object_digest(object);
    mark.applied_ms = clock_mono_ms();
    egress_mark_set(&job->marks, key, &mark);
}

/* A retry is not reported where the last error is known: both would alternate for as long as the
 * API answers 500. */
void egress_tell_refusal(struct egress_job *job, const struct workload_key *key,
                         const struct kube_result *result)
{
    AUTOFREE char *place = egress_place(key);
    if (!place || (result->outcome == KUBE_LATER && refusals_find(&job->refusals, place)))
        return;
    AUTOFREE char *message = text_format("it can't be written: %s", result->why);
    const char *remedy = result->status == 403   ? "allow it by deploy/kubernetes/controller.yaml"
                         : result->status == 404 ? job_lacks_status_remedy
                         : result->remedy        ? result->remedy
                         : key->kind == KIND_EGRESS ? "mend the Egress"
                                                    : "mend the Egress; where somebody else has "
                                                      "edited what is its own, delete that: it is "
                                                      "made again";
    if (message)
        egress_note(job, key, message, remedy);
}

/* Whether the API has reported it as done, and a check has not confirmed that. */
static bool tell_not_so(struct egress_job *job, const struct workload_key *key,
                        const struct kube_told *told)
{
    struct job_write_fault fault;
    if (!job_write_fails(told, NULL, true, &fault))
        return false;
    AUTOFREE char *message = text_format("it can't be written: %s", fault.why);
    if (message)
        egress_note(job, key, message, fault.remedy);
    return true;
}

bool egress_told(void *context, const char *key, const struct kube_told *told)
{
    struct egress_job *job = context;
    char buffer[EGRESS_KEY_MAX];
    struct workload_key parts;
    const struct doc *object = told->result.object;
    if (!egress_split(key, buffer, &parts))
        return false;
    if (told->result.outcome == KUBE_DONE) {
        if (!tell_not_so(job, &parts, told))
            egress_note(job, &parts, NULL, NULL);
        if (!object)
            job->deleted++;
        else if (parts.kind != KIND_EGRESS)
            set_mark(job, key, object);
        job->applied += object != NULL;
        if (parts.kind == KIND_ROLE_BINDING)
            (void)egress_old_binding_look(job);
        return true; /* a check shows whether it is so */
    }
    if (parts.kind != KIND_EGRESS && told->result.outcome != KUBE_UNCERTAIN)
        egress_mark_drop(&job->marks, key);
    const struct object *egress =
        parts.kind == KIND_EGRESS
            ? store_get(job->job.board->store, KIND_EGRESS, parts.namespace, parts.name)
            : NULL;
    if (job_lacks_status(told, egress))
        egress_tell_refusal(job, &parts, &told->result);
    else if (told->result.outcome == KUBE_MISSING)
        egress_note(job, &parts, NULL, NULL);
    /* The API answers a body that is no Deployment at all with a 5xx. */
    else if (told->result.outcome == KUBE_REFUSED || told->tries >= TRIES_UNTOLD)
        egress_tell_refusal(job, &parts, &told->result);
    return told->result.outcome != KUBE_MISSING || egress;
}
