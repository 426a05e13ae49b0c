// SPDX-License-Identifier: Apache-2.0
/* The next write for the objects of Egresses; see workload.h. Called by the controller's job of
 * egress. */
#include "plan/egress/workload.h"

#include <errno.h>
#include <string.h>

#include "base/siphash.h"
#include "format/reader.h"
#include "plan/egress/workload_parts.h"

/* ---- Whose it is ---- */

enum standing {
    STANDING_OURS,
    STANDING_GOING, /* it is being deleted, or its owner is gone: its name becomes free */
    STANDING_OTHERS,
};

static const char *egress_label(const struct object *object)
{
    if (object->kind != KIND_SERVICE)
        return to_workload(object)->egress;
    const struct service *service = to_service(object);
    const char *name = NULL, *instance = NULL, *component = NULL;
    for (uint32_t i = 0; i < service->label_count; i++) {
        const struct label *label = &service->labels[i];
        if (strcmp(label->name, WORKLOAD_NAME_LABEL) == 0)
            name = label->value;
        else if (strcmp(label->name, WORKLOAD_INSTANCE_LABEL) == 0)
            instance = label->value;
        else if (strcmp(label->name, WORKLOAD_COMPONENT_LABEL) == 0)
            component = label->value;
    }
    bool ours = name && component && strcmp(name, WORKLOAD_NAME) == 0 &&
                strcmp(component, WORKLOAD_COMPONENT) == 0;
    return ours ? instance : NULL;
}

static enum standing standing_of(const struct object *there, const struct object *egress,
                                 const struct workload_mark *mark)
{
    const struct object_owner *owner = object_controller(there);
    const char *label = egress_label(there);
    if (there->deleting)
        return STANDING_GOING;
    if (owner && strcmp(owner->kind, kind_name(KIND_EGRESS)) == 0)
        return strcmp(owner->uid, egress->uid) == 0 ? STANDING_OURS : STANDING_GOING;
    if (owner)
        return STANDING_OTHERS;
    bool known = *mark->uid && strcmp(mark->uid, there->uid) == 0;
    return known || (label && strcmp(label, egress->name) == 0) ? STANDING_OURS : STANDING_OTHERS;
}

static uint64_t digest_of(const struct object *object)
{
    return object->kind == KIND_SERVICE ? to_service(object)->digest : to_workload(object)->digest;
}

/* Whether the existing object is the last applied one, and that is the wanted one. */
static bool is_so(const struct workload_plan *plan, const struct workload_mark *mark)
{
    const struct object *there = plan->there;
    if (mark->wanted != plan->wanted)
        return false;
    if (!there) /* it was created, and the source has not received it yet: a deletion also clears
                   the mark */
        return !mark->doubted;
    return strcmp(mark->uid, there->uid) == 0 &&
           ((object_version_is_older(there->version, mark->version) && !mark->doubted) ||
            digest_of(there) == mark->digest);
}

static uint64_t hash(const struct text *body)
{
    static const uint8_t key[16] = "fingerpost asks";
    uint64_t value = siphash(text_str(body), body->length, key);
    return value ? value : 1;
}

/* ---- Deployment, Service, budget ---- */

static bool is_wanted(const struct workload_key *key, const struct egress *egress)
{
    return egress_has_workload(egress) && (key->kind != KIND_DISRUPTION_BUDGET ||
                                           egress->min_available || egress->max_unavailable);
}

/* Errors that the API would refuse, or that would not match the intention. */
static const char *check(const struct workload_key *key, const struct egress *egress,
                         const struct doc *pod_template)
{
    if (key->kind == KIND_DEPLOYMENT)
        return workload_template_check(pod_template);
    return key->kind == KIND_DISRUPTION_BUDGET && egress->min_available && egress->max_unavailable
               ? "spec.podDisruptionBudget has both minAvailable and maxUnavailable"
               : NULL;
}

static int wrong(struct workload_plan *plan, const char *why, const char *remedy)
{
    plan->step = WORKLOAD_WRONG;
    plan->why = why;
    plan->remedy = remedy;
    return 0;
}

static int plan_apply(const struct workload_key *key, const struct egress *egress,
                      const struct doc *pod_template, const struct workload_settings *settings,
                      const struct workload_mark *mark, struct text *body,
                      struct workload_plan *plan)
{
    const char *why = check(key, egress, pod_template);
    if (why)
        return wrong(plan, why, "mend the Egress");
    if (workload_template_excess(pod_template, settings->allowed, plan))
        return wrong(plan, plan->excess, plan->names);
    workload_write(key, egress, pod_template, settings->image, NULL, body);
    plan->wanted = hash(body);
    if (text_error(body) < 0)
        return -ENOMEM;
    if (is_so(plan, mark))
        return 0;
    plan->step = WORKLOAD_APPLY;
    text_truncate(body, 0);
    workload_write(key, egress, pod_template, settings->image, plan->there, body);
    return text_error(body);
}

static int plan_of_egress(const struct store *store, const struct workload_key *key,
                          const struct workload_settings *settings,
                          const struct workload_mark *mark, struct text *body,
                          struct workload_plan *plan)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *pod_template = NULL;
    const struct object *object = store_get(store, KIND_EGRESS, key->namespace, key->name);
    if (!object || object->deleting)
        return 0;
    const struct egress *egress = to_egress(object);
    enum standing standing = plan->there ? standing_of(plan->there, object, mark) : STANDING_OURS;
    if (standing == STANDING_GOING)
        return 0;
    if (!is_wanted(key, egress)) {
        if (plan->there && standing == STANDING_OURS)
            plan->step = WORKLOAD_DELETE;
        return 0;
    }
    if (standing == STANDING_OTHERS)
        return wrong(plan, "something that is not the Egress's has its name, and is left alone",
                     "rename the Egress, or delete what has its name");
    const char *text = key->kind == KIND_DEPLOYMENT ? egress->pod_template : NULL;
    if (text && document_parse(text, strlen(text), "", READER_JSON, &pod_template, &faults) != 1)
        return -ENOMEM;
    return plan_apply(key, egress, pod_template ? pod_template->root : NULL, settings, mark, body,
                      plan);
}

/* ---- Accounts and their role ---- */

static int plan_access(const struct store *store, const struct workload_key *key,
                       const struct workload_mark *mark, struct text *body,
                       struct workload_plan *plan)
{
    AUTOVEC workload_names namespaces = { 0 };
    bool is_binding = key->kind == KIND_ROLE_BINDING;
    if (is_binding && workload_namespaces(store, &namespaces) < 0)
        return -ENOMEM;
    bool wanted = is_binding ? namespaces.count > 0 : workload_needs_account(store, key->namespace);
    bool ours = plan->there &&
                (to_workload(plan->there)->managed || strcmp(mark->uid, plan->there->uid) == 0);
    if (plan->there && plan->there->deleting)
        return 0;
    if (!wanted) {
        if (ours)
            plan->step = WORKLOAD_DELETE;
        return 0;
    }
    if (plan->there && !ours)
        return wrong(plan,
                     "it has no label " WORKLOAD_MANAGED_LABEL ": " WORKLOAD_MANAGED
                     ", so it is somebody else's, and is left alone",
                     "delete it, or label it");
    workload_access_write(key, &namespaces, NULL, body);
    plan->wanted = hash(body);
    if (text_error(body) < 0)
        return -ENOMEM;
    if (is_so(plan, mark))
        return 0;
    plan->step = WORKLOAD_APPLY;
    text_truncate(body, 0);
    workload_access_write(key, &namespaces, plan->there, body);
    return text_error(body);
}

int plan_workload(const struct store *store, const struct workload_key *key,
                  const struct workload_settings *settings, const struct workload_mark *mark,
                  struct text *body, struct workload_plan *ret_plan)
{
    *ret_plan = (struct workload_plan){
        .there = store_get(store, key->kind, key->namespace, key->name),
    };
    return key->kind == KIND_SERVICE_ACCOUNT || key->kind == KIND_ROLE_BINDING
               ? plan_access(store, key, mark, body, ret_plan)
               : plan_of_egress(store, key, settings, mark, body, ret_plan);
}

/* ---- The status of an Egress ---- */

const struct workload *workload_of(const struct store *store, const struct egress *egress)
{
    static const struct workload_mark none;
    const struct object *object = &egress->object;
    const struct object *there = store_get(store, KIND_DEPLOYMENT, object->namespace, object->name);
    bool ours = there && standing_of(there, object, &none) == STANDING_OURS;
    return ours ? to_workload(there) : NULL;
}

int plan_workload_status(const struct store *store, const struct egress *egress, struct text *body)
{
    struct json json = { .out = body };
    AUTOFREE char *selector =
        text_format(WORKLOAD_COMPONENT_LABEL "=" WORKLOAD_COMPONENT "," WORKLOAD_INSTANCE_LABEL
                                             "=%s," WORKLOAD_NAME_LABEL "=" WORKLOAD_NAME,
                    egress->object.name);
    const struct workload *workload = workload_of(store, egress);
    uint32_t replicas = workload ? workload->replicas : 0;
    if (!selector)
        return -ENOMEM;
    if (egress->object.deleting || !egress_has_workload(egress) ||
        (egress->told_replicas == (int32_t)replicas && egress->told_selector &&
         strcmp(egress->told_selector, selector) == 0))
        return 0;
    const struct workload_key key = { KIND_EGRESS, egress->object.namespace, egress->object.name };
    workload_begin(&json, &key, &egress->object);
    json_end_object(&json);
    json_begin_object(&json, "status");
    json_int(&json, "replicas", replicas);
    json_string(&json, "selector", selector);
    json_end_object(&json);
    json_end_object(&json);
    return text_error(body) < 0 ? -ENOMEM : 1;
}
