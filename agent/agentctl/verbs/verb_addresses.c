// SPDX-License-Identifier: Apache-2.0
/* `agentctl addresses`: which node has each claimed address, and why this one has it or has not. */
#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/output.h"
#include "agentctl/tables.h"

const struct column address_columns[] = {
    { "ADDRESS", COLUMN_KEY | COLUMN_NAME },
    { "STATE", COLUMN_STATE },
    { "HOLDER", COLUMN_TRUNCATE },
    { "INTERFACE" },
    { "SINCE" },
    { "RENEWED" },
    { "SERVICE", COLUMN_TRUNCATE },
    { "WHY", COLUMN_TRUNCATE },
    { "CLAIM", COLUMN_WIDE },
    { NULL },
};

static void address_row(struct table *table, const struct doc *address)
{
    char since[CLOCK_STRLEN], renewed[CLOCK_STRLEN];
    const char *ago = field_ago(address, "since", since);
    const struct doc *age = doc_get(address, "renewalAgeMs");
    bool known = age && age->type == DOC_SCALAR;
    const char *const cells[] = {
        field(address, "address"),
        field(address, "state"),
        field(address, "holder"),
        field(address, "interface"),
        ago ? ago : "-",
        known ? clock_ago(field_int(address, "renewalAgeMs"), renewed) : "-",
        field(address, "service"),
        field(address, "why"),
        field(address, "claim"),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(address_columns), "a cell per column");
    table_row(table, cells);
}

int verb_addresses(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 };
    int64_t held = 0;
    int status;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/addresses", &answer, &status);
    if (!items)
        return status;
    struct table *table = table_new(ctl, address_columns);
    doc_each(address, items) {
        address_row(table, address);
        held += field_is(address, "state", "held");
    }
    text_add_count(&total, items->count, "claimed address");
    return table_print(table, "%s, %d held here.\n", text_str(&total), (int)held);
}
