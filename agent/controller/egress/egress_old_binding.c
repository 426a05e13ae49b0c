// SPDX-License-Identifier: Apache-2.0
/*
 * The binding by which controllers up to 0.1 granted the role of agents to the accounts of
 * gateways: it is deleted as soon as today's binding is as wanted. The role of a binding can't be
 * changed, so today's has a name of its own, and an older controller that leads again finds its
 * own, or creates it.
 *
 * It is read by name instead of watched, once for each time that this controller leads: only a
 * leader creates it. What is deleted is what was read, by uid and version.
 */
#include <errno.h>
#include <string.h>

#include "controller/egress/egress_inside.h"
#include "controller/egress/egress_marks.h"
#include "model/workload.h"

static const struct workload_key old = { KIND_ROLE_BINDING, "", WORKLOAD_OLD_BINDING };
static const struct workload_key today = { KIND_ROLE_BINDING, "", WORKLOAD_BINDING };

void egress_old_binding_reset(struct egress_job *job)
{
    job->old = (struct old_binding){ 0 };
}

int egress_old_binding_look(struct egress_job *job)
{
    return job->old.gone
               ? 0
               : job_writer_add(job->job.writers[EGRESS_OLD_BINDING], WORKLOAD_OLD_BINDING);
}

/* True if no account would lose rights. Returns 1, 0 or -ENOMEM. */
static int is_replaced(const struct egress_job *job)
{
    static const struct workload_settings none;
    AUTOTEXT struct text body = { 0 };
    AUTOFREE char *key = egress_key(today.kind, today.namespace, today.name);
    struct workload_plan plan;
    if (!key)
        return -ENOMEM;
    const struct workload_mark *mark = egress_mark(&job->marks, key);
    int r = plan_workload(job->job.board->store, &today, &none, mark, &body, &plan);
    bool going = plan.there && plan.there->deleting;
    bool answered = !plan.wanted || mark->digest; /* before that the write is under way */
    return r < 0 ? r : plan.step == WORKLOAD_NOTHING && !going && answered;
}

int egress_old_binding_make(void *context, const char *key, struct kube_write *write,
                            struct text *body)
{
    struct egress_job *job = context;
    (void)body;
    int r = job->old.gone ? 0 : is_replaced(job);
    if (r <= 0)
        return r;
    *write = (struct kube_write){
        .verb = KUBE_GET,
        .target = { .group = "rbac.authorization.k8s.io",
                    .version = "v1",
                    .plural = "clusterrolebindings",
                    .name = key },
    };
    if (*job->old.uid) {
        write->verb = KUBE_DELETE;
        write->uid = job->old.uid;
        write->version = job->old.version;
    }
    return 1;
}

/* A binding of another owner is left alone. */
static void take(struct old_binding *binding, const struct doc *object)
{
    const struct doc *metadata = doc_get(object, "metadata");
    const struct doc *managed = doc_get(doc_get(metadata, "labels"), WORKLOAD_MANAGED_LABEL);
    binding->gone =
        !managed || managed->type != DOC_SCALAR || strcmp(managed->text, WORKLOAD_MANAGED) != 0;
    egress_take(metadata, "uid", binding->uid, sizeof(binding->uid));
    egress_take(metadata, "resourceVersion", binding->version, sizeof(binding->version));
}

bool egress_old_binding_told(void *context, const char *key, const struct kube_told *told)
{
    struct egress_job *job = context;
    const struct kube_result *result = &told->result;
    (void)key;
    switch (result->outcome) {
    case KUBE_DONE:
        egress_note(job, &old, NULL, NULL);
        if (!result->object) {
            job->old.gone = true;
            job->deleted++;
            return false;
        }
        take(&job->old, result->object);
        (void)egress_old_binding_look(job);
        return false;
    case KUBE_MISSING:
        egress_note(job, &old, NULL, NULL);
        job->old.gone = true;
        return false;
    case KUBE_UNCERTAIN:
        return true;
    default: /* it has changed, or can't be read: it is read again */
        egress_old_binding_reset(job);
        if (result->outcome == KUBE_REFUSED)
            egress_tell_refusal(job, &old, result);
        return true;
    }
}
