// SPDX-License-Identifier: Apache-2.0
/* See explain_claim.h; called by verb_explain.c. */
#include "agentctl/explain_claim.h"

#include "agentctl/field.h"
#include "agentctl/output.h"

/* "held here by eth0", or why it is not here. */
static void add_here(struct text *out, const struct doc *claim)
{
    const struct doc *age = doc_get(claim, "renewalAgeMs");
    if (field_is(claim, "state", "held")) {
        text_add(out, ", here by ");
        add_clean(out, field(claim, "interface"));
        if (age)
            text_addf(out, ", renewed %.1f s ago", (double)field_int(claim, "renewalAgeMs") / 1000);
        return;
    }
    text_addf(out, ", %s here: ", field(claim, "state"));
    add_clean(out, field(claim, "why"));
}

void add_claim(struct text *out, const struct doc *claim)
{
    char ago[CLOCK_STRLEN];
    if (!claim)
        return;
    text_add(out, "  segment   ");
    if (doc_get(claim, "holder")) {
        add_clean(out, field(claim, "holder"));
        text_add(out, " has it by claim ");
    } else {
        text_add(out, "nobody has it by claim ");
    }
    add_clean(out, field(claim, "claim"));
    text_addf(out, ", for %s", field_ago(claim, "since", ago));
    add_here(out, claim);
    text_add_char(out, '\n');
}
