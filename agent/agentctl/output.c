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

#include <errno.h>
#include <inttypes.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentctl/answer.h"

struct table {
    struct libscols_table *cols;
    const struct column *columns;
    size_t column_count;
    bool color, bare, failed;
};

static bool table_start(struct table *table)
{
    table->cols = scols_new_table();
    if (!table->cols)
        return false;
    scols_table_enable_noheadings(table->cols, table->bare);
    scols_table_enable_colors(table->cols, table->color);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct column *column = &table->columns[i];
        int flags = (column->flags & COLUMN_RIGHT ? SCOLS_FL_RIGHT : 0) |
                    (column->flags & COLUMN_TRUNCATE ? SCOLS_FL_TRUNC : 0);
        if (!scols_table_new_column(table->cols, column->title, 0, flags))
            return false;
    }
    return true;
}

struct table *table_new(const struct ctl *ctl, const struct column *columns, size_t count)
{
    struct table *table = calloc(1, sizeof(*table));

    if (!table)
        return NULL;
    table->columns = columns;
    table->column_count = count;
    table->color = ctl->color;
    table->bare = ctl->no_header;
    table->failed = !table_start(table);
    return table;
}

void table_row(struct table *table, const char *const *cells)
{
    if (!table || table->failed)
        return;
    struct libscols_line *line = scols_table_new_line(table->cols, NULL);
    for (size_t i = 0; i < table->column_count && line; i++) {
        const char *cell = *cells[i] ? cells[i] : "-";
        if (scols_line_set_data(line, i, cell) < 0)
            line = NULL;
        else if (table->columns[i].flags & COLUMN_STATE && state_color(cell))
            (void)scols_cell_set_color(scols_line_get_cell(line, i), state_color(cell));
    }
    table->failed = line == NULL;
}

int table_print(struct table *table, const char *footer, ...)
{
    bool failed = !table || table->failed;
    bool bare = table && table->bare;

    if (!failed)
        failed = scols_print_table(table->cols) < 0;
    if (!failed && !bare) {
        va_list args;
        if (scols_table_get_nlines(table->cols) > 0)
            (void)putchar('\n');
        va_start(args, footer);
        (void)vprintf(footer, args);
        va_end(args);
    }
    if (table)
        scols_unref_table(table->cols);
    free(table);
    if (failed) {
        fprintf(stderr, "agentctl: cannot print the table: %s\n", strerror(ENOMEM));
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

const char *state_color(const char *word)
{
    static const struct {
        const char *word, *sequence;
    } colors[] = {
        { "OK", "\033[32m" },          { "healthy", "\033[32m" },  { "announced", "\033[32m" },
        { "WARN", "\033[33m" },        { "degraded", "\033[33m" }, { "starting", "\033[33m" },
        { "withheld", "\033[33m" },    { "add", "\033[33m" },      { "replace", "\033[33m" },
        { "delete", "\033[33m" },      { "FAIL", "\033[31m" },     { "failed", "\033[31m" },
        { "blocked", "\033[31m" },     { "off", "\033[2m" },       { "foreign", "\033[2m" },
        { "Established", "\033[32m" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(colors); i++)
        if (strcmp(word, colors[i].word) == 0)
            return colors[i].sequence;
    return NULL;
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

void add_count(struct text *out, int64_t count, const char *singular)
{
    size_t length = strlen(singular);
    const char *plural = length > 0 && strchr("sx", singular[length - 1]) ? "es" : "s";

    text_addf(out, "%" PRId64 " %s%s", count, singular, count == 1 ? "" : plural);
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
