// SPDX-License-Identifier: Apache-2.0
/*
 * The run over the tables of checks. A check that says nothing has found nothing wrong: its line is
 * "ok". A new check is a row in one of the tables, and a mistake in tests/netns/test_doctor.py that
 * it finds.
 */
#include "doctor/doctor.h"

#include <errno.h>

#include "base/macro.h"
#include "base/ours.h"
#include "client/agent.h"
#include "doctor/visit.h"
#include "source/conflicts.h"
#include "source/manifest.h"

static void visit_done(struct visit *visit)
{
    config_free(visit->config);
    faults_done(&visit->config_faults);
    kernel_close(visit->kernel);
    store_free(visit->store);
    faults_done(&visit->store_faults);
}

static void run(struct visit *visit, const struct check *checks)
{
    for (; checks->name; checks++) {
        size_t before = visit->findings->list.count;
        visit->check = checks;
        checks->run(visit);
        if (visit->findings->list.count == before)
            visit_good(visit, "%s", "as wanted");
    }
}

static bool agent_runs(const struct visit *visit)
{
    AUTOFREE char *body = NULL;
    long status = 0;
    return agent_get(visit->socket, "/v1/status", visit->timeout_ms, &status, &body) == 0;
}

/* What all checks look at. */
static int look(struct visit *visit)
{
    int r = config_load(visit->path, &visit->config, &visit->config_faults);
    if (r == -ENOMEM)
        return r;
    visit->running = agent_runs(visit);
    struct kernel_scope scope =
        scope_of_node(visit->config ? visit->config->routes.table : (uint32_t)ROUTE_TABLE_EXPORT);
    scope.paths = true;
    r = kernel_open(&scope, NL_HERE, &visit->kernel);
    if (r < 0)
        return r;
    if (!visit->config || visit->config->source.kubernetes)
        return 0;
    visit->store = store_new();
    if (!visit->store)
        return -ENOMEM;
    visit->store_error =
        manifest_load(visit->config->source.manifests, visit->config->source.max_file_bytes,
                      visit->store, &visit->store_faults);
    manifest_conflicts(visit->store, &visit->store_faults);
    return visit->store_error == -ENOMEM ? -ENOMEM : 0;
}

int doctor_examine(const struct doctor_options *options, struct findings *ret_findings)
{
    const struct check *const tables[] = { config_checks,       user_checks,      machine_checks,
                                           link_checks,         neighbour_checks, rival_checks,
                                           cert_checks,         firewall_checks,  segment_checks,
                                           store_checks,        pod_checks,       bird_checks,
                                           bird_release_checks, kube_checks };
    CLEANUP(findings_done) struct findings findings = { 0 };
    CLEANUP(visit_done)
    struct visit visit = { .path = options->config,
                           .socket = options->socket,
                           .timeout_ms = options->timeout_ms,
                           .findings = &findings };

    int r = look(&visit);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        run(&visit, tables[i]);
    if (visit.error < 0)
        return visit.error;
    *ret_findings = TAKE_STRUCT(findings);
    return 0;
}
