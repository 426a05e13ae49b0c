// SPDX-License-Identifier: Apache-2.0
/* See explain_claim.h; called by verb_explain.c. */
#include "agentctl/explain/explain_claim.h"

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
    text_addf(out,
              ", %s here: ", field_is(claim, "state", "other") ? "not" : field(claim, "state"));
    add_clean(out, field(claim, "why"));
}

bool add_claimed(struct text *out, const struct ctl *ctl, const struct doc *answer)
{
    const struct doc *claim = doc_get(answer, "claim");
    const bool held = field_is(claim, "state", "held"), other = field_is(claim, "state", "other");
    if (!claim || !field_is(answer, "reason", "claimed"))
        return false;
    text_addf(out, "%s is ", field(answer, "address"));
    if (other) {
        add_clean(out, field(claim, "holder"));
        text_add(out, "'s: that node answers for it on their segment\n");
        return true;
    }
    add_state(out, ctl, field(claim, "state"), 0);
    text_add(out, held ? ": this node answers for it on its segment, by " : " here: ");
    add_clean(out, field(claim, held ? "interface" : "why"));
    text_add_char(out, '\n');
    return true;
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
