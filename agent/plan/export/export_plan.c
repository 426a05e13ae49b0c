// SPDX-License-Identifier: Apache-2.0
/* A plan of exports as a value; see export_plan.h. */
#include "plan/export/export_plan.h"

void export_plan_done(struct export_plan *plan)
{
    vec_done(&plan->documents);
    vec_done(&plan->refusals);
    vec_done(&plan->node_names);
    arena_free(plan->arena);
    plan->arena = NULL;
}

/* Any Service may be the ingress of another. */
bool export_plan_depends_on(const struct export_plan *plan, enum kind kind)
{
    return kind == KIND_SERVICE || kind == KIND_NODE ||
           (kind == KIND_ENDPOINT_SLICE && plan->endpoints);
}

int export_nodes_key(const struct export_config *config, struct text *out)
{
    text_addf(out, "%s/nodes/%s", config->prefix, config->cluster);
    return text_error(out);
}
