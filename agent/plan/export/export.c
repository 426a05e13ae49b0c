// SPDX-License-Identifier: Apache-2.0
/*
 * The plan of exports: every Service that requests it, in order of precedence, and the list of
 * nodes. Called by the controller's job, and by `agentctl plan`.
 *
 * Parts of an id are joined by '-', which names may contain, too: two Services can claim the same
 * key. The older one gets it, as with addresses and ports, and the other is refused completely.
 */
#include "plan/export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "faults/export.h"
#include "faults/raise.h"
#include "plan/export/export_parts.h"
#include "plan/export/exported.h"

enum { ARENA_SIZE = 64 * 1024 };

/* A key and its owner: of equal keys the first one. */
struct claim {
    const char *key;
    size_t order;
};

static int claim_cmp(const void *a, const void *b)
{
    const struct claim *left = a, *right = b;
    int r = strcmp(left->key, right->key);
    return r ? r : CMP(left->order, right->order);
}

static int document_cmp(const void *a, const void *b)
{
    const struct export_document *left = a, *right = b;
    return strcmp(left->key, right->key);
}

static int refusal_cmp(const void *a, const void *b)
{
    const struct export_refusal *left = a, *right = b;
    return strcmp(left->owner, right->owner);
}

/* The Service that owns a document. */
static const struct service *owner_of(const struct exporting *exporting,
                                      const struct export_document *document)
{
    const char *slash = strchr(document->owner, '/');
    AUTOFREE char *namespace =
        slash ? strndup(document->owner, (size_t)(slash - document->owner)) : NULL;
    return namespace ? to_service(store_get(exporting->store, KIND_SERVICE, namespace, slash + 1))
                     : NULL;
}

static bool is_refused(const struct export_plan *plan, const char *owner)
{
    vec_each(const struct export_refusal, refusal, &plan->refusals) {
        if (strcmp(refusal->owner, owner) == 0)
            return true;
    }
    return false;
}

static void drop_documents_of(struct export_plan *plan, const char *owner)
{
    size_t kept = 0;
    for (size_t i = 0; i < plan->documents.count; i++) {
        if (strcmp(plan->documents.items[i].owner, owner) != 0)
            plan->documents.items[kept++] = plan->documents.items[i];
    }
    plan->documents.count = kept;
}

static int refuse_second(struct exporting *exporting, const struct export_document *first,
                         const struct export_document *second)
{
    struct export_plan *plan = exporting->plan;
    const struct service *service = owner_of(exporting, second);
    if (!service)
        return -ENOMEM;
    if (is_refused(plan, second->owner))
        return 0;
    bool own = strcmp(first->owner, second->owner) == 0;
    return export_refuse(exporting, service,
                         own ? "have consul.keyTemplate name the port, by {{ id }}"
                             : "rename one of the two, or set id-prefix on one",
                         "key %s is that of %s Service %s", second->key,
                         own ? "another port of" : "the older", first->owner);
}

/*
 * Refuses Services whose keys belong to others before them; `documents` are in order of precedence.
 */
static int settle_keys(struct exporting *exporting)
{
    struct export_plan *plan = exporting->plan;
    size_t count = plan->documents.count, refused = plan->refusals.count;
    AUTOFREE struct claim *claims = calloc(count + 1, sizeof(*claims));
    if (!claims)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        claims[i] = (struct claim){ plan->documents.items[i].key, i };
    qsort(claims, count, sizeof(*claims), claim_cmp);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(claims[i - 1].key, claims[i].key) != 0)
            continue;
        int r = refuse_second(exporting, &plan->documents.items[claims[i - 1].order],
                              &plan->documents.items[claims[i].order]);
        if (r < 0)
            return r;
    }
    for (size_t i = refused; i < plan->refusals.count; i++) {
        drop_documents_of(plan, plan->refusals.items[i].owner);
        plan->services--;
    }
    return 0;
}

static int precedence_cmp(const void *a, const void *b)
{
    return object_precedence_cmp(*(const struct object *const *)a,
                                 *(const struct object *const *)b);
}

static int export_services(struct exporting *exporting)
{
    AUTOVEC object_list services = { 0 };
    int r = store_list(exporting->store, KIND_SERVICE, &services);
    if (r < 0)
        return r;
    vec_sort(&services, precedence_cmp);
    vec_each(const struct object *, object, &services) {
        if (export_is_asked(exporting->config, to_service(*object)))
            r = export_service(exporting, to_service(*object));
        if (r < 0)
            return r;
    }
    return settle_keys(exporting);
}

static int plan_all(struct exporting *exporting, struct export_plan *ret_plan)
{
    CLEANUP(export_plan_done) struct export_plan plan = { .arena = arena_new(ARENA_SIZE) };
    exporting->plan = &plan;
    if (!plan.arena)
        return -ENOMEM;
    int r = export_services(exporting);
    if (r < 0)
        return r;
    if (!exporting->ids_only)
        r = export_nodes(exporting);
    if (r < 0)
        return r;
    vec_sort(&plan.documents, document_cmp);
    vec_sort(&plan.refusals, refusal_cmp);
    *ret_plan = TAKE_STRUCT(plan);
    return 0;
}

int plan_export(const struct export_config *config, const struct store *store, int64_t now_wall_ms,
                struct export_plan *ret_plan, struct faults *faults)
{
    struct exporting exporting = {
        .config = config,
        .store = store,
        .now_wall_ms = now_wall_ms,
        .faults = faults,
    };
    return plan_all(&exporting, ret_plan);
}

int plan_export_ids(const struct export_config *config, const struct store *store,
                    struct export_plan *ret_plan, struct faults *faults)
{
    struct exporting exporting = {
        .config = config,
        .store = store,
        .ids_only = true,
        .faults = faults,
    };
    return plan_all(&exporting, ret_plan);
}

void plan_export_check(const struct export_config *config, struct faults *faults)
{
    static const struct exported nobody = { "",
                                            "",
                                            "",
                                            "",
                                            .dns_name = "",
                                            .health_path = "",
                                            .backend_protocol = "",
                                            .balancer_class = "",
                                            .sni = "",
                                            .id_prefix = "" };
    AUTOTEXT struct text key = { 0 };
    const char *wrong;
    vec_each(char *, text, &config->node_selectors) {
        CLEANUP(label_selector_freep) struct label_selector *selector = NULL;
        struct label_selector_error error;
        if (**text && label_selector_parse(*text, &selector, &error) == -EINVAL)
            fault_raise(faults, "consul.nodeSelectors", export_selector_wrong, .selector = *text,
                        .character = (int64_t)error.column, .reason = error.message);
    }
    if (exported_key(&nobody, config->key_template, &key, &wrong) == -EINVAL)
        fault_raise(faults, "consul.keyTemplate", export_template_wrong,
                    .pattern = config->key_template, .reason = wrong);
}
