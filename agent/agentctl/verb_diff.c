// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl diff`: wanted against installed. The exit status tells whether they differ; foreign
 * routes are listed and are no difference.
 */
#include "agentctl/answer.h"
#include "agentctl/output.h"

int verb_diff(const struct ctl *ctl, char **args)
{
    static const struct column columns[] = {
        { "TABLE", COLUMN_RIGHT },
        { "CHANGE", COLUMN_STATE },
        { "ENTRY" },
        { "REASON", COLUMN_TRUNCATE },
    };
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 };

    (void)args;
    int r = answer_get(ctl, "/v1/diff", &answer);
    if (r != EXIT_OK)
        return r;
    int64_t differences = field_int(answer.root, "differences");
    int status = differences > 0 ? EXIT_DIFFERS : EXIT_OK;
    if (ctl->json)
        return print_body(answer.body, status);
    struct table *table = table_new(ctl, columns, ARRAY_SIZE(columns));
    doc_each(item, doc_get(answer.root, "items")) {
        const char *const cells[] = {
            field(item, "table"),
            field(item, "change"),
            field(item, "entry"),
            field(item, "reason"),
        };
        table_row(table, cells);
    }
    add_count(&total, differences, "difference");
    r = table_print(table, "%s, %s foreign.\n", text_str(&total), field(answer.root, "foreign"));
    return r == EXIT_OK ? status : r;
}
