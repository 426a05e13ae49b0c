// SPDX-License-Identifier: Apache-2.0
/*
 * The binding by which controllers up to 0.1 gave gateways' accounts the role of agents: it goes,
 * once the binding of today is as it should be. The role of a binding can't be changed, so that
 * today's has a name of its own, and an older controller that leads again finds its own, or makes
 * it.
 *
 * It is read by name rather than watched, once for each time that this controller leads: only a
 * leader makes it. What is deleted is what was read, by uid and version.
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

/* Whether no account would be without rights. Returns 1, 0 or -ENOMEM. */
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
    bool answered = !plan.wanted || mark->digest; /* until then the write is under way */
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

/* One that is somebody else's is left alone. */
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
    default: /* it is another by now, or can't be had: it is read again */
        egress_old_binding_reset(job);
        if (result->outcome == KUBE_REFUSED)
            egress_tell_refusal(job, &old, result);
        return true;
    }
}
