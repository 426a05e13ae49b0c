// SPDX-License-Identifier: Apache-2.0
/*
 * How things look; the common law of all verbs' output for people.
 *
 * Tables are libsmartcols' without frames: on a terminal, columns that may give way are cut to its
 * width, elsewhere nothing is cut. libsmartcols makes unprintable characters visible itself; other
 * output goes through add_clean(), because manifests and faults are text of others' making.
 * Colour is put on state words only, and always says what the word says.
 */
#include "agentctl/output.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "base/cleanup.h"

enum { MAX_COLUMNS = 24 };

struct table {
    struct libscols_table *cols; /* NULL for -o name */
    const struct column *columns;
    size_t shown[MAX_COLUMNS], shown_count; /* indexes of columns, in order of appearance */
    struct text names, last_name;           /* -o name */
    bool color, bare, by_name, failed;
};

/* True for the title itself in any case, spaces written as "-". */
static bool is_title(const char *title, const char *name, size_t length)
{
    if (strlen(title) != length)
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = title[i] == ' ' ? '-' : title[i];
        if (tolower((unsigned char)c) != tolower((unsigned char)name[i]))
            return false;
    }
    return true;
}

/* The index of the column that the first of the names is, or -1. */
static int column_find(const struct column *columns, const char *names)
{
    for (int i = 0; columns[i].title; i++)
        if (is_title(columns[i].title, names, strcspn(names, ",")))
            return i;
    return -1;
}

/* What follows the first of the names, or NULL. */
static const char *next_name(const char *names)
{
    names += strcspn(names, ",");
    return *names ? names + 1 : NULL;
}

int columns_check(const struct column *columns, const char *names)
{
    size_t count = 0;

    for (const char *name = names; name; name = next_name(name)) {
        if (column_find(columns, name) >= 0 && ++count <= MAX_COLUMNS)
            continue;
        fprintf(stderr, "agentctl: no column '%.*s'; there are", (int)strcspn(name, ","), name);
        for (; columns->title; columns++) {
            fputc(' ', stderr);
            for (const char *c = columns->title; *c; c++)
                fputc(*c == ' ' ? '-' : tolower((unsigned char)*c), stderr);
        }
        fputc('\n', stderr);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

static void choose_columns(struct table *table, const struct ctl *ctl)
{
    for (const char *name = ctl->columns; name; name = next_name(name))
        table->shown[table->shown_count++] = (size_t)column_find(table->columns, name);
    for (size_t i = 0; !ctl->columns && table->columns[i].title; i++) {
        unsigned flags = table->columns[i].flags;
        if (ctl->names ? flags & COLUMN_NAME : ctl->wide || !(flags & COLUMN_WIDE))
            table->shown[table->shown_count++] = i;
    }
}

/* Of the terminal's width: what columns are cut to before any is cut further. */
static const double truncated_share = 0.2;

static bool table_start(struct table *table)
{
    table->cols = scols_new_table();
    if (!table->cols)
        return false;
    scols_table_enable_noheadings(table->cols, table->bare);
    scols_table_enable_colors(table->cols, table->color);
    for (size_t i = 0; i < table->shown_count; i++) {
        const struct column *column = &table->columns[table->shown[i]];
        int flags = (column->flags & COLUMN_RIGHT ? SCOLS_FL_RIGHT : 0) |
                    (column->flags & COLUMN_TRUNCATE ? SCOLS_FL_TRUNC : 0);
        double hint = column->flags & COLUMN_TRUNCATE ? truncated_share : 0;
        if (!scols_table_new_column(table->cols, column->title, hint, flags))
            return false;
    }
    return true;
}

struct table *table_new(const struct ctl *ctl, const struct column *columns)
{
    struct table *table = calloc(1, sizeof(*table));

    if (!table)
        return NULL;
    table->columns = columns;
    table->color = ctl->color;
    table->bare = ctl->no_header || ctl->names;
    table->by_name = ctl->names;
    choose_columns(table, ctl);
    table->failed = !table->by_name && !table_start(table);
    return table;
}

/* What one object has several rows for is named once: they stand together. */
static void add_name(struct table *table, const char *const *cells)
{
    AUTOTEXT struct text name = { 0 };

    for (size_t i = 0; i < table->shown_count; i++) {
        text_add(&name, i > 0 ? "/" : "");
        add_clean(&name, cells[table->shown[i]]);
    }
    if (strcmp(text_str(&name), text_str(&table->last_name)) == 0)
        return;
    text_truncate(&table->last_name, 0);
    text_add(&table->last_name, text_str(&name));
    text_addf(&table->names, "%s\n", text_str(&name));
    table->failed = text_error(&name) < 0 || text_error(&table->names) < 0;
}

/* The escape sequence that colours a state word; NULL for none. */
static const char *state_color(const char *word)
{
    static const struct {
        const char *word, *sequence;
    } colors[] = {
        { "OK", "\033[32m" },          { "healthy", "\033[32m" },     { "announced", "\033[32m" },
        { "WARN", "\033[33m" },        { "degraded", "\033[33m" },    { "starting", "\033[33m" },
        { "withheld", "\033[33m" },    { "add", "\033[33m" },         { "replace", "\033[33m" },
        { "delete", "\033[33m" },      { "FAIL", "\033[31m" },        { "failed", "\033[31m" },
        { "blocked", "\033[31m" },     { "off", "\033[2m" },          { "foreign", "\033[2m" },
        { "Established", "\033[32m" }, { "differs", "\033[33m" },     { "ready", "\033[32m" },
        { "not ready", "\033[33m" },   { "terminating", "\033[33m" },

        { "forward", "\033[32m" },     { "partly", "\033[33m" },      { "reject", "\033[33m" },
        { "drop", "\033[31m" },        { "pass", "\033[2m" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(colors); i++)
        if (strcmp(word, colors[i].word) == 0)
            return colors[i].sequence;
    return NULL;
}

static void add_line(struct table *table, const char *const *cells)
{
    struct libscols_line *line = scols_table_new_line(table->cols, NULL);

    for (size_t i = 0; i < table->shown_count && line; i++) {
        const char *cell = cells[table->shown[i]];
        if (scols_line_set_data(line, i, *cell ? cell : "-") < 0)
            line = NULL;
        else if (table->columns[table->shown[i]].flags & COLUMN_STATE && state_color(cell))
            (void)scols_cell_set_color(scols_line_get_cell(line, i), state_color(cell));
    }
    table->failed = line == NULL;
}

void table_row(struct table *table, const char *const *cells)
{
    if (!table || table->failed)
        return;
    if (table->by_name)
        add_name(table, cells);
    else
        add_line(table, cells);
}

static void table_free(struct table *table)
{
    if (!table)
        return;
    scols_unref_table(table->cols);
    text_done(&table->names);
    text_done(&table->last_name);
    free(table);
}
DEFINE_CLEANUP(struct table *, table_free);

int table_print(struct table *table, const char *footer, ...)
{
    CLEANUP(table_freep) struct table *owned = table;
    bool failed = !owned || owned->failed;

    if (!failed && table->by_name)
        (void)fputs(text_str(&table->names), stdout);
    else if (!failed)
        failed = scols_print_table(table->cols) < 0;
    if (failed) {
        fprintf(stderr, "agentctl: cannot print the table: %s\n", strerror(ENOMEM));
        return EXIT_FAILED;
    }
    if (!table->bare) {
        va_list args;
        if (scols_table_get_nlines(table->cols) > 0)
            (void)putchar('\n');
        va_start(args, footer);
        (void)vprintf(footer, args);
        va_end(args);
    }
    return EXIT_OK;
}

void add_state(struct text *out, const struct ctl *ctl, const char *word, int width)
{
    const char *color = ctl->color ? state_color(word) : NULL;

    text_addf(out, "%s%s%s", color ? color : "", word, color ? "\033[0m" : "");
    for (int i = (int)strlen(word); i < width; i++)
        text_add_char(out, ' ');
}

/* C0, DEL, and the C1 controls, which UTF-8 writes as c2 80 to c2 9f. */
void add_clean(struct text *out, const char *string)
{
    for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
        if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) {
            text_add_char(out, '?');
            c++;
        } else {
            text_add_char(out, *c < 0x20 || *c == 0x7f ? '?' : (char)*c);
        }
    }
}

void add_bytes(struct text *out, int64_t bytes)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
    double value = (double)bytes / 1024;
    size_t unit = 0;

    if (bytes < 1024) {
        text_add_count(out, bytes, "byte");
        return;
    }
    for (; value >= 1024 && unit + 1 < ARRAY_SIZE(units); unit++)
        value /= 1024;
    text_addf(out, "%.1f %s", value, units[unit]);
}

void add_fault(struct text *out, const struct doc *fault, const char *indent)
{
    char buffer[CLOCK_STRLEN];
    const char *ago = field_ago(fault, "since", buffer);

    text_add(out, indent);
    add_clean(out, field(fault, "place"));
    text_add(out, ": ");
    add_clean(out, field(fault, "message"));
    if (ago)
        text_addf(out, " (for %s)", ago);
    text_add_char(out, '\n');
    if (doc_get(fault, "remedy")) {
        text_addf(out, "%s-> ", indent);
        add_clean(out, field(fault, "remedy"));
        text_add_char(out, '\n');
    }
}

void add_source(struct text *out, const char *before, const struct doc *object)
{
    if (field_is(object, "source", "kubernetes")) {
        text_addf(out, "%sKubernetes", before);
    } else if (doc_get(object, "file")) {
        text_add(out, before);
        add_clean(out, field(object, "file"));
        text_addf(out, ":%s", field(object, "line"));
    }
}

void add_age(struct text *out, const struct doc *map, const char *key, const char *before)
{
    char buffer[CLOCK_STRLEN];
    const char *ago = field_ago(map, key, buffer);

    if (ago)
        text_addf(out, "%s%s ago", before, ago);
}

int print_text(struct text *out, int status)
{
    if (text_error(out) < 0) {
        fprintf(stderr, "agentctl: %s\n", strerror(ENOMEM));
        return EXIT_FAILED;
    }
    return print_body(text_str(out), status);
}

/* A write error stays in the stream; main() looks at it once, at the end. */
int print_body(const char *body, int status)
{
    (void)fputs(body, stdout);
    return status;
}
