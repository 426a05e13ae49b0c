// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl plan -f DIR`: what the agent would want with these manifests, without an agent.
 *
 * It is the daemon's own reader, store and planner, fed once. What only a running node knows is
 * left empty: no hold-down, no proofs of NAT (an address is announced on endpoints alone), no
 * addresses of interfaces. With services.enabled a svc0 is taken for granted, and the Node object's
 * address as its source. For people it prints from its own Plan document, so that both show the
 * same. Faults go to standard error and make the exit status EXIT_DIFFERS; the plan is printed
 * all the same, as the agent would act on what is good. What NAT would do is shown whether or not
 * services.enabled is set, but only then are its own faults ones of this node.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/output.h"
#include "agentctl/plan/plan_assign.h"
#include "agentctl/plan/plan_egress.h"
#include "agentctl/plan/plan_export.h"
#include "agentctl/plan/plan_nat.h"
#include "api/view.h"
#include "plan/nat/nat_hooks.h"
#include "plan/node_plan.h"
#include "source/conflicts.h"
#include "source/manifest.h"

static void print_faults(const struct faults *faults)
{
    vec_each(const struct fault, fault, &faults->list) {
        AUTOTEXT struct text line = { 0 };
        add_clean(&line, fault->place);
        text_add(&line, ": ");
        add_clean(&line, fault->message);
        if (fault->remedy) {
            text_add(&line, "\n-> ");
            add_clean(&line, fault->remedy);
        }
        fprintf(stderr, "%s\n", text_str(&line));
    }
}

static int settings(const struct ctl *ctl, struct config **ret_config, struct faults *faults)
{
    int r = ctl->config ? config_load(ctl->config, ret_config, faults)
                        : config_default(ctl->folder, ret_config);
    if (r < 0 || !ctl->node)
        return r;
    free((*ret_config)->node);
    (*ret_config)->node = strdup(ctl->node);
    return (*ret_config)->node ? 0 : -ENOMEM;
}

/* The interface by whose name routes to svc0 are printed. */
static int make_up_svc0(struct sorted *links)
{
    const struct link svc0 = { .ifindex = 1, .name = SVC0_NAME };
    *links = (struct sorted)SORTED(struct link, link_cmp);
    return sorted_put(links, &svc0);
}

static int plan_objects(const struct config *config, const struct store *store,
                        struct node_plan *plan, struct faults *faults)
{
    const struct default_sources no_defaults = { 0 };
    struct node_facts facts = { .store = store, .config = config };
    const struct nat_svc0 path = plan_nat_svc0(&facts, 1, &no_defaults);
    const struct route_inputs inputs = { .node = &facts };
    if (config->services.enabled)
        facts.nat_svc0 = &path;
    return plan_node(&inputs, plan, faults);
}

static void exports_done(struct planned_exports *exports)
{
    export_plan_done(&exports->plan);
    controller_config_free(exports->config);
}

/* The Plan document of the folder as a string that the caller frees. */
static int plan_folder(const struct ctl *ctl, const struct config *config, struct faults *faults,
                       char **ret_document)
{
    CLEANUP(store_freep) struct store *store = store_new();
    CLEANUP(node_plan_done) struct node_plan plan;
    CLEANUP(assignments_done) struct assignments assignments;
    CLEANUP(pool_table_done) struct pool_table pools = { 0 };
    CLEANUP(exports_done) struct planned_exports exports = { 0 };
    AUTOSORTED struct sorted links = { 0 };
    AUTOTEXT struct text out = { 0 };

    node_plan_init(&plan);
    assignments_init(&assignments);
    if (!store || make_up_svc0(&links) < 0)
        return -ENOMEM;
    int r = manifest_load(ctl->folder, config->source.max_file_bytes, store, faults);
    if (r < 0)
        return r;
    manifest_conflicts(store, faults);
    r = assign_addresses(config, store, &pools, &assignments, faults);
    if (r < 0)
        return r;
    r = plan_objects(config, store, &plan, faults);
    if (r < 0)
        return r;
    r = plan_exports(ctl, store, &exports, faults);
    if (r < 0)
        return r;
    const struct api_state state = {
        .config = config,
        .store = store,
        .plan = &plan.routes,
        .links = &links,
        .nat = &plan.services,
        .egress = &plan.egress,
        .pools = &pools,
        .assignments = &assignments,
        .exports = &exports,
    };
    view_plan(&state, faults, &out);
    text_add_char(&out, '\n');
    *ret_document = text_take(&out);
    return *ret_document ? 0 : -ENOMEM;
}

static void add_routes(struct text *out, const struct doc *routes)
{
    const char *last = "";

    doc_each(route, routes) {
        const char *table = field(route, "table");
        if (strcmp(table, last) != 0)
            text_addf(out, "table %s:\n", strcmp(table, "254") == 0 ? "main" : table);
        text_addf(out, "  %s\n", field(route, "entry"));
        last = table;
    }
}

static void add_rules(struct text *out, const struct doc *rules)
{
    if (!rules || rules->count == 0)
        return;
    text_add(out, "rules:\n");
    doc_each(rule, rules)
        text_addf(out, "  %s\n", rule->text);
}

static void add_addresses(struct text *out, const struct ctl *ctl, const struct doc *addresses)
{
    if (!addresses || addresses->count == 0)
        return;
    text_add(out, "addresses:\n");
    doc_each(address, addresses) {
        text_addf(out, "  %s", field(address, "prefix"));
        doc_each(object, doc_get(address, "objects")) {
            text_add_char(out, ' ');
            add_clean(out, field(object, "namespace"));
            text_add_char(out, '/');
            add_clean(out, field(object, "name"));
        }
        text_add(out, ": ");
        add_state(out, ctl, field(address, "state"), 0);
        if (!field_is(address, "state", "announced"))
            text_addf(out, ", %s", field(address, "reasonText"));
        text_add_char(out, '\n');
    }
}

static int print_plan(const struct ctl *ctl, char *document, int status)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text out = { 0 };

    int r = answer_of(document, &answer);
    if (r != EXIT_OK)
        return r;
    if (ctl->json)
        return print_body(answer.body, status);
    add_routes(&out, doc_get(answer.root, "routes"));
    add_rules(&out, doc_get(answer.root, "rules"));
    add_addresses(&out, ctl, doc_get(answer.root, "addresses"));
    add_pools(&out, answer.root);
    add_services(&out, doc_get(answer.root, "nat"));
    add_egress(&out, doc_get(answer.root, "egress"));
    add_exports(&out, doc_get(answer.root, "exports"));
    if (out.length == 0) {
        text_add(&out, "nothing: the manifests have no address, and no block of node ");
        add_clean(&out, field(answer.root, "node"));
        text_add_char(&out, '\n');
    }
    return print_text(&out, status);
}

static int plan(const struct ctl *ctl, struct faults *faults, char **ret_document)
{
    CLEANUP(config_freep) struct config *config = NULL;
    int r = settings(ctl, &config, faults);
    if (r < 0)
        return r;
    return plan_folder(ctl, config, faults, ret_document);
}

int verb_plan(const struct ctl *ctl, char **args)
{
    AUTOFAULTS struct faults faults = { 0 };
    char *document = NULL;

    (void)args;
    if (!ctl->folder) {
        fprintf(stderr, "agentctl: plan wants a folder of manifests: -f DIR\n");
        return EXIT_USAGE;
    }
    int r = plan(ctl, &faults, &document);
    print_faults(&faults);
    if (r < 0) {
        if (faults_none(&faults))
            fprintf(stderr, "agentctl: cannot plan: %s\n", strerror(-r));
        return EXIT_FAILED;
    }
    return print_plan(ctl, document, faults_none(&faults) ? EXIT_OK : EXIT_DIFFERS);
}
