// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl pods`: which pod of this node has which addresses, and below it the pools: how full
 * they are, and which are asked for another block. With -v also every block.
 */
#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/output.h"
#include "agentctl/tables.h"

const struct column pod_columns[] = {
    { "NAMESPACE", COLUMN_TRUNCATE | COLUMN_NAME },
    { "POD", COLUMN_TRUNCATE | COLUMN_NAME },
    { "ADDRESSES" },
    { "INTERFACE" },
    { "BLOCK", COLUMN_TRUNCATE },
    { "STATE", COLUMN_STATE },
    { "EGRESS" },
    { "SINCE" },
    { "CONTAINER", COLUMN_WIDE },
    { NULL },
};

static const char *text_of(const struct doc *map, const char *key)
{
    return doc_get(map, key) ? field(map, key) : "-";
}

static void join(struct text *out, const struct doc *list)
{
    doc_each(item, list) {
        text_add(out, out->length ? "," : "");
        text_add(out, item->text);
    }
}

static void pod_row(struct table *table, const struct doc *pod)
{
    AUTOTEXT struct text addresses = { 0 }, egress = { 0 };
    char since[CLOCK_STRLEN];
    const char *ago = field_ago(pod, "since", since);
    join(&addresses, doc_get(pod, "addresses"));
    join(&egress, doc_get(pod, "egress"));
    const char *const cells[] = {
        text_of(pod, "namespace"),
        text_of(pod, "name"),
        addresses.length ? text_str(&addresses) : "-",
        text_of(pod, "hostInterface"),
        text_of(pod, "block"),
        field(pod, "state"),
        egress.length ? text_str(&egress) : "-",
        ago ? ago : "-",
        field(pod, "container"),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(pod_columns), "a cell per column");
    table_row(table, cells);
}

/* "pool default: 3 used, 29 free, of 1 block; another is asked for" */
static void add_pool(struct text *out, const struct doc *pool)
{
    text_add(out, "pool ");
    add_clean(out, field(pool, "name"));
    text_addf(out, ": %s used, %s free, of ", field(pool, "used"), field(pool, "free"));
    text_add_count(out, field_int(pool, "blocks"), "block");
    if (field_is(pool, "request", "asked"))
        text_add(out, "; another is asked for");
    else if (field_is(pool, "request", "exhausted"))
        text_add(out, "; there is no other");
    text_add(out, field_true(pool, "waitedFor") ? ", and pods wait\n" : "\n");
}

/* "  block default-0: 3 of 32 used" */
static void add_block(struct text *out, const struct doc *block)
{
    text_add(out, "  block ");
    add_clean(out, field(block, "name"));
    text_addf(out, ": %s of %s used%s%s\n", field(block, "used"), field(block, "size"),
              field_is(block, "state", "open") ? "" : ", ",
              field_is(block, "state", "open") ? "" : field(block, "state"));
}

int verb_pods(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 }, below = { 0 };
    int status;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/pods", &answer, &status);
    if (!items)
        return status;
    struct table *table = table_new(ctl, pod_columns);
    doc_each(pod, items)
        pod_row(table, pod);
    doc_each(pool, doc_get(answer.root, "pools"))
        add_pool(&below, pool);
    if (ctl->verbose) {
        doc_each(block, doc_get(answer.root, "blocks"))
            add_block(&below, block);
    }
    text_add_count(&total, items->count, "pod");
    return table_print(table, "%s.\n%s", text_str(&total), text_str(&below));
}
