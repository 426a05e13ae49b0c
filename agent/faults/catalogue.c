// SPDX-License-Identifier: Apache-2.0
/* The catalogue: each row of a table as a value. */
#include "faults/catalogue.h"

#include <string.h>

#include "base/macro.h"
#include "faults/addresses.h"
#include "faults/api.h"
#include "faults/bgp.h"
#include "faults/blocks.h"
#include "faults/claims.h"
#include "faults/config.h"
#include "faults/controller.h"
#include "faults/deletions.h"
#include "faults/documents.h"
#include "faults/egress.h"
#include "faults/export.h"
#include "faults/firewall.h"
#include "faults/health.h"
#include "faults/kernel.h"
#include "faults/kinds.h"
#include "faults/kubeconfig.h"
#include "faults/manifests.h"
#include "faults/nat.h"
#include "faults/networks.h"
#include "faults/node.h"
#include "faults/objects.h"
#include "faults/pods.h"
#include "faults/pools.h"
#include "faults/report.h"
#include "faults/requests.h"
#include "faults/routes.h"
#include "faults/syntax.h"
#include "faults/waiting.h"

#define NOTHING
#define NUMBER(name_) { .name = #name_, .kind = FAULT_NUMBER_ARGUMENT },
#define TEXT(name_)   { .name = #name_ },
#define KEY(name_)    { .name = #name_, .is_key = true },
#define FAULT(id, code_, severity_, arguments_, ...)                                \
    const struct fault_type fault_type_##id = {                                     \
        .code = code_,                                                              \
        .severity = FAULT_##severity_,                                              \
        .arguments = (const struct fault_argument[]){ arguments_{ .name = NULL } }, \
        __VA_ARGS__                                                                 \
    };
#include "faults/all.def"
#undef FAULT

#define FAULT(id, ...) &fault_type_##id,
static const struct fault_type *const catalogue[] = {
#include "faults/all.def"
};
#undef FAULT

size_t fault_catalogue_count(void)
{
    return ARRAY_SIZE(catalogue);
}

const struct fault_type *fault_catalogue_at(size_t index)
{
    return catalogue[index];
}

const struct fault_type *fault_catalogue_find(const char *code)
{
    for (size_t i = 0; i < ARRAY_SIZE(catalogue); i++)
        if (strcmp(catalogue[i]->code, code) == 0)
            return catalogue[i];
    return NULL;
}

const char *fault_severity_name(enum fault_severity severity)
{
    static const char *const names[FAULT_SEVERITIES] = {
        [FAULT_NOTICE] = "notice",
        [FAULT_DEGRADED] = "degraded",
        [FAULT_FAILED] = "failed",
    };
    return names[severity];
}
