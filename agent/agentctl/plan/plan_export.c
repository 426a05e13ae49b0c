// SPDX-License-Identifier: Apache-2.0
/*
 * Exports in `agentctl plan`: the documents that agent-controller would write of these manifests,
 * by its own settings (--controller, the section `consul`, and the environment that the controller
 * takes) and its own planner. What only a running controller knows plays no part: nothing is held
 * back, and what stands in Consul is not compared.
 *
 *   kube-service-exporter/nodes/transformers
 *     [{"Name":"node-1","Address":"192.0.2.1"}]
 */
#include "agentctl/plan/plan_export.h"

#include "agentctl/field.h"
#include "agentctl/output.h"
#include "base/clock.h"
#include "config/controller_config.h"
#include "faults/export.h"
#include "faults/raise.h"
#include "plan/export/export.h"

int plan_exports(const struct ctl *ctl, const struct store *store, struct planned_exports *ret,
                 struct faults *faults)
{
    if (!ctl->controller)
        return 0;
    int r = controller_config_load_offline(ctl->controller, &ret->config, faults);
    if (r < 0)
        return r;
    const struct export_config *config = &ret->config->exports;
    if (!config->cluster) {
        fault_raise(faults, ctl->controller, export_cluster_unset);
        return 0;
    }
    plan_export_check(config, faults);
    r = plan_export(config, store, clock_wall_ms(), &ret->plan, faults);
    ret->planned = r == 0;
    return r;
}

void add_exports(struct text *out, const struct doc *exports)
{
    if (!exports || exports->type != DOC_MAP)
        return;
    text_add(out, "exports:\n");
    doc_each(document, doc_get(exports, "documents")) {
        text_add(out, "  ");
        add_clean(out, field(document, "key"));
        text_add(out, "\n    ");
        add_clean(out, field(document, "value"));
        text_add_char(out, '\n');
    }
    doc_each(refusal, doc_get(exports, "refused")) {
        text_add(out, "  refused: ");
        add_clean(out, field(refusal, "namespace"));
        text_add_char(out, '/');
        add_clean(out, field(refusal, "name"));
        text_add_char(out, '\n');
    }
}
