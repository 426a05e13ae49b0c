// SPDX-License-Identifier: Apache-2.0
/*
 * Makes the facts about this node; see facts.h.
 *
 * All planners read the same facts, so that all planners agree on which addresses are local to this
 * node. Called by engines when they plan, and by the API when it plans outside a pass.
 */
#include "engine/facts.h"

#include "plan/routes/route_table.h"

/* The mirror leaves out the kernel's own three rules. */
static bool has_other_rules(const struct kernel *kernel)
{
    sorted_each(const struct rule, rule, kernel_rules(kernel)) {
        if (!rule_is_ours(rule))
            return true;
    }
    return false;
}

struct node_facts node_facts_of(const struct config *config, const struct store *store,
                                const struct kernel *kernel, const struct nat_svc0 *leads,
                                const struct default_sources *defaults)
{
    return (struct node_facts){
        .store = store,
        .config = config,
        .local_prefixes = kernel_local_prefixes(kernel),
        .local_networks = kernel_local_networks(kernel),
        .link_addresses = kernel_link_addresses(kernel),
        .links = kernel_links(kernel),
        .nat_svc0 = leads->ifindex ? leads : NULL,
        .other_rules = has_other_rules(kernel),
        .default_source = { defaults->v4, defaults->v6 },
    };
}
