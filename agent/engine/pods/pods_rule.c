// SPDX-License-Identifier: Apache-2.0
/*
 * The rule that looks up table 116, where pods.table puts pods' routes into it as Coil does: "2000:
 * from all lookup 116" in both families, which is Coil's own.
 *
 * Any rule to the table before that of main will do. Ours is never removed: where pods.table is
 * main again, it leads to an empty table, or to routes of pods that Coil's agent has wired.
 */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "engine/pods/pods_state.h"
#include "faults/pods.h"
#include "faults/raise.h"

enum { COIL_PREFERENCE = 2000, MAIN_PREFERENCE = 32766 };

static bool leads_there(const struct rule *rule, uint8_t family)
{
    return rule->family == family && rule->table == ROUTE_TABLE_COIL &&
           rule->priority < MAIN_PREFERENCE && !rule->invert && !rule->other && !*rule->iif;
}

static bool has_rule(const struct pods_engine *pods, uint8_t family)
{
    sorted_each(const struct rule, rule, kernel_rules(pods->setup.kernel)) {
        if (leads_there(rule, family))
            return true;
    }
    return false;
}

static int add_rule(const struct pods_engine *pods, uint8_t family, struct round *round,
                    struct faults *faults)
{
    char text[ROUTE_STRLEN];
    struct op_result result = { 0 };
    const struct rule_op op = {
        OP_ADD,
        { .family = family,
          .priority = COIL_PREFERENCE,
          .table = ROUTE_TABLE_COIL,
          .protocol = ROUTE_PROTOCOL_BLOCK },
    };
    int r = kernel_apply_rules(pods->setup.kernel, &op, 1, &result);
    if (r < 0)
        return r;
    round->changes++;
    if (result.error < 0)
        fault_raise(faults, rule_str(&op.rule, text), pod_rule_refused,
                    .reason = strerror(-result.error), .detail = result.text);
    return 0;
}

int pods_follow_rule(struct pods_engine *pods, struct round *round, struct faults *faults)
{
    static const uint8_t families[] = { IP_V4, IP_V6 };
    if (pods->setup.config->pods.table != ROUTE_TABLE_COIL)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        int r = has_rule(pods, families[i]) ? 0 : add_rule(pods, families[i], round, faults);
        if (r < 0)
            return r;
    }
    return 0;
}
