// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl diff`: wanted against installed, in the kernel's tables and in NAT's maps. The exit
 * status tells whether they differ; foreign routes are listed last and are no difference. What
 * stays in a diff is what the agent can't do alone, so a line below the table says what to do about
 * it.
 */
#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/tables.h"

const struct column diff_columns[] = {
    { "TABLE", COLUMN_RIGHT | COLUMN_KEY },
    { "CHANGE", COLUMN_STATE },
    { "ENTRY", COLUMN_KEY },
    { "REASON", COLUMN_TRUNCATE },
    { NULL },
};

/* The items of one kind of change, or of all but two. Returns their number. */
static unsigned add_rows(struct table *table, const struct doc *items, const char *change)
{
    unsigned count = 0;

    doc_each(item, items) {
        bool special = field_is(item, "change", "blocked") || field_is(item, "change", "foreign");
        if (change ? !field_is(item, "change", change) : special)
            continue;
        const char *const cells[] = {
            table_word(field(item, "table")),
            field(item, "change"),
            field(item, "entry"),
            field(item, "reason"),
        };
        _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(diff_columns), "a cell per column");
        table_row(table, cells);
        count++;
    }
    return count;
}

/* What NAT's live maps and hooks lack or have too much. Returns the number. */
static unsigned add_nat_rows(struct table *table, const struct doc *items)
{
    unsigned count = 0;

    doc_each(item, items) {
        const char *const cells[] = { "nat", "differs", field(item, "service"),
                                      field(item, "difference") };
        _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(diff_columns), "a cell per column");
        table_row(table, cells);
        count++;
    }
    return count;
}

int verb_diff(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 };

    (void)args;
    if (ctl->json)
        return answer_print_compared(ctl, "/v1/diff");
    int r = answer_get(ctl, "/v1/diff", &answer);
    if (r != EXIT_OK)
        return r;
    const struct doc *items = doc_get(answer.root, "items");
    int64_t differences = field_int(answer.root, "differences");
    struct table *table = table_new(ctl, diff_columns);
    unsigned blocked = add_rows(table, items, "blocked");
    unsigned others = add_rows(table, items, NULL);
    others += add_nat_rows(table, doc_get(answer.root, "nat"));
    (void)add_rows(table, items, "foreign");
    text_add_count(&total, differences, "difference");
    r = table_print(
        table, "%s, %s foreign.\n%s%s", text_str(&total), field(answer.root, "foreign"),
        blocked > 0 ? "-> blocked: remove the foreign route; the agent never will\n" : "",
        others > 0 ? "-> tried again at every pass; if it stays, see: agentctl faults\n" : "");
    if (r != EXIT_OK)
        return r;
    return differences > 0 ? EXIT_DIFFERS : EXIT_OK;
}
