// SPDX-License-Identifier: Apache-2.0
/* `agentctl beacons`: one row per item of the API's BeaconList, in its order. */
#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/tables.h"
#include "base/macro.h"

const struct column beacon_columns[] = {
    { "PREFIX", COLUMN_NAME },
    { "STATE", COLUMN_STATE },
    { "NAME", COLUMN_TRUNCATE },
    { "TABLE", COLUMN_RIGHT | COLUMN_WIDE },
    { "PROTOCOL", COLUMN_RIGHT | COLUMN_WIDE },
    { NULL },
};

int verb_beacons(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 };
    int status;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/beacons", &answer, &status);
    if (!items)
        return status;
    struct table *table = table_new(ctl, beacon_columns);
    doc_each(item, items) {
        const char *const cells[] = {
            field(item, "prefix"), field(item, "state"),    field(item, "name"),
            field(item, "table"),  field(item, "protocol"),
        };
        _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(beacon_columns), "a cell per column");
        table_row(table, cells);
    }
    text_add_count(&total, items->count, "beacon");
    return table_print(table, "%s.\n", text_str(&total));
}
