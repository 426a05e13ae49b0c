// SPDX-License-Identifier: Apache-2.0
/* What the files of the egress engine have in common; see egress_state.h. */
#include "engine/egress/egress_state.h"

#include "base/clock.h"
#include "engine/facts.h"

struct node_facts egress_facts(const struct egress_engine *egress)
{
    return node_facts_of(egress->config, egress->store, egress->kernel, &egress->board->leads,
                         &egress->board->defaults);
}

void egress_report(struct egress_engine *egress, const char *group, const struct faults *faults)
{
    (void)fault_book_replace(egress->status->faults, "egress", group, faults, clock_wall_ms());
}

bool egress_follows(const struct egress_engine *egress)
{
    return egress->complete && !egress->behind && egress_source_follows(egress->status);
}
