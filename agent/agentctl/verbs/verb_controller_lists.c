// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl controller blocks`, `controller requests` and `controller egresses`: the blocks of all
 * nodes with how full their pools are; who asks for a block, with the reason why one has none; the
 * gateways of Egresses, with what can't be written of them. `controller pools` is `pools`, asked of
 * the controller (verb_pools.c).
 */
#include <inttypes.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/tables.h"
#include "base/macro.h"

const struct column cluster_block_columns[] = {
    { "NAME", COLUMN_TRUNCATE | COLUMN_NAME },
    { "POOL", COLUMN_TRUNCATE },
    { "NODE", COLUMN_TRUNCATE },
    { "INDEX", COLUMN_RIGHT | COLUMN_WIDE },
    { "IPV4" },
    { "IPV6" },
    { "STATE" },
    { NULL },
};

const struct column request_columns[] = {
    { "NAME", COLUMN_TRUNCATE | COLUMN_NAME },
    { "NODE", COLUMN_TRUNCATE },
    { "POOL", COLUMN_TRUNCATE },
    { "STATE" },
    { "BLOCK", COLUMN_TRUNCATE },
    { "WHY NOT", COLUMN_TRUNCATE },
    { NULL },
};

const struct column workload_columns[] = {
    { "NAME", COLUMN_TRUNCATE | COLUMN_NAME },
    { "WANTED", COLUMN_RIGHT },
    { "PODS", COLUMN_RIGHT },
    { "AVAILABLE", COLUMN_RIGHT },
    { "STATE" },
    { NULL },
};

static void block_row(struct table *table, const struct doc *block)
{
    const char *const cells[] = {
        field(block, "name"), field(block, "pool"), field(block, "node"),  field(block, "index"),
        field(block, "ipv4"), field(block, "ipv6"), field(block, "state"),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(cluster_block_columns), "a cell per column");
    table_row(table, cells);
}

static void add_pool(struct text *out, const struct doc *pool)
{
    text_add(out, "-> AddressPool ");
    add_clean(out, field(pool, "name"));
    text_addf(out, ": %" PRId64 " of ", field_int(pool, "used"));
    text_add_count(out, field_int(pool, "size"), "block");
    text_addf(out, " used, %" PRId64 " free", field_int(pool, "free"));
    text_add(out, field_true(pool, "deleting") ? "; it is being deleted, and gives none\n" : "\n");
}

int verb_controller_blocks(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 }, below = { 0 };
    int status;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/address-blocks", &answer, &status);
    if (!items)
        return status;
    struct table *table = table_new(ctl, cluster_block_columns);
    doc_each(block, items)
        block_row(table, block);
    doc_each(pool, doc_get(answer.root, "pools"))
        add_pool(&below, pool);
    text_add_count(&total, items->count, "block");
    return table_print(table, "%s.\n%s", text_str(&total), text_str(&below));
}

/* What keeps it waiting, or why it was refused. */
static const char *why_not(const struct doc *request)
{
    const struct doc *wait = doc_get(request, "waitsFor");
    return wait ? field(wait, "reasonText") : field(request, "why");
}

static void request_row(struct table *table, const struct doc *request)
{
    const char *const cells[] = {
        field(request, "name"),  field(request, "node"),  field(request, "pool"),
        field(request, "state"), field(request, "block"), why_not(request),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(request_columns), "a cell per column");
    table_row(table, cells);
}

static void add_remedy(struct text *out, const struct doc *request)
{
    const struct doc *wait = doc_get(request, "waitsFor");
    if (!doc_get(wait, "remedy"))
        return;
    text_add(out, "-> ");
    add_clean(out, field(request, "name"));
    text_add(out, ": ");
    add_clean(out, field(wait, "remedy"));
    text_add_char(out, '\n');
}

int verb_controller_requests(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 }, below = { 0 };
    int status;
    int64_t waiting = 0;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/block-requests", &answer, &status);
    if (!items)
        return status;
    struct table *table = table_new(ctl, request_columns);
    doc_each(request, items) {
        request_row(table, request);
        add_remedy(&below, request);
        waiting += field_is(request, "state", "waiting");
    }
    text_add_count(&total, items->count, "request");
    return table_print(table, "%s, %" PRId64 " without an answer.\n%s", text_str(&total), waiting,
                       text_str(&below));
}

/* Gateways that are Nodes have no numbers here. */
static void workload_row(struct table *table, const struct doc *item)
{
    bool pods = field_is(item, "gateways", "pods");
    AUTOFREE char *name = text_format("%s/%s", field(item, "namespace"), field(item, "name"));
    const char *const cells[] = {
        name ? name : "",
        pods ? field(item, "wanted") : "",
        pods ? field(item, "pods") : "",
        pods ? field(item, "available") : "",
        field(item, "state"),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(workload_columns), "a cell per column");
    table_row(table, cells);
}

static void add_refused(struct text *out, const struct doc *item)
{
    doc_each(refusal, doc_get(item, "refused")) {
        text_add(out, "-> ");
        add_clean(out, field(refusal, "object"));
        text_add(out, ": ");
        add_clean(out, field(refusal, "message"));
        if (doc_get(refusal, "remedy")) {
            text_add(out, ": ");
            add_clean(out, field(refusal, "remedy"));
        }
        text_add_char(out, '\n');
    }
}

int verb_controller_egresses(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 }, below = { 0 };
    int status;
    int64_t ready = 0;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/egress-workloads", &answer, &status);
    if (!items)
        return status;
    struct table *table = table_new(ctl, workload_columns);
    doc_each(item, items) {
        workload_row(table, item);
        add_refused(&below, item);
        ready += field_is(item, "state", "ready") || field_is(item, "state", "nodes");
    }
    text_add(&total, items->count == 1 ? "1 Egress" : "");
    if (items->count != 1)
        text_addf(&total, "%zu Egresses", (size_t)items->count);
    return table_print(table, "%s, %" PRId64 " ready.\n%s", text_str(&total), ready,
                       text_str(&below));
}
