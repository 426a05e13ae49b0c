// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl backends`, `flows`, `maps` and `verify`: what service NAT does now, from its live maps.
 * Where NAT is off the agent says so, and these fail: an empty table would look like an answer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/tables.h"

const struct column backend_columns[] = {
    { "SERVICE", COLUMN_KEY },
    { "PORT", COLUMN_KEY },
    { "PORT NAME", COLUMN_TRUNCATE | COLUMN_WIDE },
    { "ENDPOINT", COLUMN_NAME },
    { "NODE", COLUMN_TRUNCATE },
    { "HERE", COLUMN_WIDE },
    { "STATE", COLUMN_STATE },
    { "SETS" },
    { "FLOWS", COLUMN_RIGHT },
    { NULL },
};

const struct column flow_columns[] = {
    { "SERVICE", COLUMN_TRUNCATE },
    { "CLIENT", COLUMN_KEY },
    { "ADDRESS", COLUMN_KEY },
    { "ENDPOINT", COLUMN_KEY },
    { "SOURCE", COLUMN_TRUNCATE | COLUMN_WIDE },
    { "STATE", COLUMN_STATE },
    { "IDLE", COLUMN_RIGHT },
    { "PACKETS", COLUMN_RIGHT | COLUMN_WIDE },
    { "BYTES", COLUMN_RIGHT | COLUMN_WIDE },
    { "PACKETS BACK", COLUMN_RIGHT | COLUMN_WIDE },
    { "BYTES BACK", COLUMN_RIGHT | COLUMN_WIDE },
    { NULL },
};

const struct column map_columns[] = {
    { "MAP", COLUMN_NAME },   { "ENTRIES", COLUMN_RIGHT }, { "CAPACITY", COLUMN_RIGHT },
    { "FILL", COLUMN_RIGHT }, { "MEMORY", COLUMN_RIGHT },  { NULL },
};

const struct column difference_columns[] = {
    { "SERVICE", COLUMN_KEY },
    { "DIFFERENCE", COLUMN_TRUNCATE },
    { NULL },
};

/* "namespace/name" with its parts as they are in a query. Returns an exit status. */
static int add_service(struct text *path, const char *separator, const char *service)
{
    const char *slash = strchr(service, '/');

    if (!slash || slash == service || !slash[1] || strchr(slash + 1, '/') ||
        service[strspn(service, "abcdefghijklmnopqrstuvwxyz0123456789.-/")]) {
        fprintf(stderr, "agentctl: not a Service's NAMESPACE/NAME: '%s'\n", service);
        return EXIT_USAGE;
    }
    text_addf(path, "%sservice=%s", separator, service);
    return EXIT_OK;
}

static void add_sets(struct text *out, const struct doc *sets)
{
    doc_each(set, sets)
        text_addf(out, "%s%s", out->length > 0 ? ", " : "", set->text);
}

/* That it serves while it terminates is told by its set. */
static const char *backend_state(const struct doc *item)
{
    if (field_true(item, "ready"))
        return "ready";
    return field_true(item, "terminating") ? "terminating" : "not ready";
}

static void backend_row(struct table *table, const struct doc *item)
{
    AUTOTEXT struct text service = { 0 }, port = { 0 }, sets = { 0 };

    text_addf(&service, "%s/%s", field(item, "namespace"), field(item, "name"));
    text_addf(&port, "%s/%s", field(item, "port"), field(item, "protocol"));
    add_sets(&sets, doc_get(item, "sets"));
    const char *const cells[] = {
        text_str(&service),      text_str(&port),     field(item, "portName"),
        field(item, "endpoint"), field(item, "node"), field_true(item, "local") ? "yes" : "no",
        backend_state(item),     text_str(&sets),     field(item, "flows"),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(backend_columns), "a cell per column");
    table_row(table, cells);
}

int verb_backends(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text path = { 0 }, total = { 0 };
    unsigned used = 0;

    text_add(&path, "/v1/backends");
    int r = args[0] ? add_service(&path, "?", args[0]) : EXIT_OK;
    if (r != EXIT_OK)
        return r;
    const struct doc *items = answer_items(ctl, text_str(&path), &answer, &r);
    if (!items)
        return r;
    struct table *table = table_new(ctl, backend_columns);
    doc_each(item, items) {
        const struct doc *sets = doc_get(item, "sets");
        backend_row(table, item);
        used += sets && sets->first && strcmp(sets->first->text, "serving") != 0;
    }
    text_add_count(&total, items->count, "endpoint");
    return table_print(table, "%s, %u for new flows.\n", text_str(&total), used);
}

static void flow_row(struct table *table, const struct doc *item)
{
    const struct doc *to = doc_get(item, "toEndpoint"), *from = doc_get(item, "fromEndpoint");
    AUTOTEXT struct text state = { 0 }, address = { 0 };
    const int64_t idle_s = field_int(item, "idleSeconds");
    char idle[CLOCK_STRLEN];

    text_addf(&state, "%s%s", field(item, "state"), field_true(item, "stale") ? ", stale" : "");
    text_addf(&address, "%s/%s", field(item, "address"), field(item, "protocol"));
    const char *const cells[] = {
        field(item, "service"),
        field(item, "client"),
        text_str(&address),
        field(item, "endpoint"),
        field(item, "source"),
        text_str(&state),
        idle_s > 0 ? clock_ago(idle_s * SECOND_MS, idle) : "0s",
        field(to, "packets"),
        field(to, "bytes"),
        field(from, "packets"),
        field(from, "bytes"),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(flow_columns), "a cell per column");
    table_row(table, cells);
}

int verb_flows(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text path = { 0 }, total = { 0 };
    uint32_t own = 0;

    (void)args;
    text_addf(&path, "/v1/flows?limit=%" PRId64, ctl->limit ? ctl->limit : 100);
    int r = ctl->service ? add_service(&path, "&", ctl->service) : EXIT_OK;
    if (r != EXIT_OK)
        return r;
    const struct doc *items = answer_items(ctl, text_str(&path), &answer, &r);
    if (!items)
        return r;
    struct table *table = table_new(ctl, flow_columns);
    doc_each(item, items) {
        own += field_true(item, "own");
        if (!field_true(item, "own"))
            flow_row(table, item);
    }
    text_add_count(&total, items->count - own, "flow");
    if (own)
        text_addf(&total, ", and %u of the agent's own test packets (--json)", own);
    return table_print(table, "%s%s.\n", text_str(&total),
                       field_true(answer.root, "truncated") ? "; there are more (--limit)" : "");
}

/* Arrays that are whole from the start: that they are full says nothing. */
static bool is_fixed(const struct doc *map)
{
    return field_is(map, "name", "control") || field_is(map, "name", "pressure") ||
           field_is(map, "name", "peers");
}

static void map_row(struct table *table, const struct doc *item)
{
    AUTOTEXT struct text fill = { 0 }, memory = { 0 };
    int64_t entries = field_int(item, "entries"), capacity = field_int(item, "capacity");

    if (is_fixed(item))
        text_add_char(&fill, '-');
    else
        text_addf(&fill, "%" PRId64 "%%", capacity > 0 ? entries * 100 / capacity : 0);
    add_bytes(&memory, field_int(item, "bytes"));
    const char *const cells[] = {
        field(item, "name"), field(item, "entries"), field(item, "capacity"),
        text_str(&fill),     text_str(&memory),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(map_columns), "a cell per column");
    table_row(table, cells);
}

int verb_maps(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 };
    int r;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/maps", &answer, &r);
    if (!items)
        return r;
    struct table *table = table_new(ctl, map_columns);
    doc_each(item, items)
        map_row(table, item);
    text_add_count(&total, items->count, "map");
    text_add(&total, ", ");
    add_bytes(&total, field_int(answer.root, "bytes"));
    return table_print(table, "%s.\n", text_str(&total));
}

int verb_verify(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 };

    (void)args;
    if (ctl->json)
        return answer_print_compared(ctl, "/v1/verify");
    int r = answer_get(ctl, "/v1/verify", &answer);
    if (r != EXIT_OK)
        return r;
    const int64_t differences = field_int(answer.root, "differences");
    struct table *table = table_new(ctl, difference_columns);
    doc_each(item, doc_get(answer.root, "items")) {
        const char *const cells[] = { field(item, "service"), field(item, "difference") };
        table_row(table, cells);
    }
    text_add_count(&total, differences, "difference");
    text_add(&total, " in ");
    text_add_count(&total, field_int(answer.root, "services"), "service");
    r = table_print(table, "%s.\n%s", text_str(&total),
                    differences > 0
                        ? "-> repaired at the next full pass; if it stays, see: agentctl faults\n"
                        : "");
    if (r != EXIT_OK)
        return r;
    return differences > 0 ? EXIT_DIFFERS : EXIT_OK;
}
