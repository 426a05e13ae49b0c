// SPDX-License-Identifier: Apache-2.0
/*
 * Tables without frames: a title, a row per object, a footer.
 *
 * On a terminal a table keeps to its width. What may be cut is cut first, with an ellipsis; then
 * columns go that tell nothing about which row it is, the last first and those of -o wide before
 * others, and the footer names them; at last what tells rows apart goes on in the next line. So
 * what identifies a row can always be read, and copied. Elsewhere than on a terminal, and of
 * columns that were asked for by name, nothing is left out.
 *
 * Cells are text of others' making, and are kept without control characters.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentctl/output.h"
#include "base/vec.h"

enum {
    MAX_COLUMNS = 24,
    CUT_LEAST = 8,   /* what is cut keeps so much */
    FOLD_LEAST = 12, /* and what goes on below as well */
};

struct table {
    const struct column *columns;
    size_t shown[MAX_COLUMNS], shown_count; /* indexes of columns, in order of appearance */
    size_t natural[MAX_COLUMNS], width[MAX_COLUMNS]; /* of what is shown */
    size_t least[MAX_COLUMNS];                       /* what COLUMN_LIST keeps, of what is shown */
    VEC(char *) cells;                               /* row by row, of what is shown */
    struct text names, last_name;                    /* -o name */
    bool hidden[MAX_COLUMNS];                        /* columns without room, by index */
    const char *ellipsis;
    bool color, bare, by_name, chosen, failed;
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

static const struct column *column_of(const struct table *table, size_t at)
{
    return &table->columns[table->shown[at]];
}

static size_t text_width(const char *text)
{
    size_t width = 0, bytes;

    for (; *text; text += bytes)
        width += char_width(text, &bytes);
    return width;
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
    table->chosen = ctl->columns != NULL;
    table->ellipsis = ctl->ellipsis;
    choose_columns(table, ctl);
    for (size_t i = 0; i < table->shown_count; i++)
        table->natural[i] = strlen(column_of(table, i)->title);
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

/* The width of a list's first item, with what says that there are more. */
static size_t first_item(const struct table *table, const char *list)
{
    size_t width;
    const size_t all = text_width(list);
    const char *comma = strchr(list, ',');
    if (!comma)
        return all;
    width = all - text_width(comma) + strlen(",") + text_width(table->ellipsis);
    return MIN(width, all);
}

static void add_cells(struct table *table, const char *const *cells)
{
    for (size_t i = 0; i < table->shown_count; i++) {
        AUTOTEXT struct text clean = { 0 };
        const char *cell = cells[table->shown[i]];
        add_clean(&clean, *cell ? cell : "-");
        char *kept = text_take(&clean);
        if (!kept || vec_push(&table->cells, kept) < 0) {
            free(kept);
            table->failed = true;
            return;
        }
        table->natural[i] = MAX(table->natural[i], text_width(kept));
        if (column_of(table, i)->flags & COLUMN_LIST)
            table->least[i] = MAX(table->least[i], first_item(table, kept));
    }
}

void table_row(struct table *table, const char *const *cells)
{
    if (!table || table->failed)
        return;
    if (table->by_name)
        add_name(table, cells);
    else
        add_cells(table, cells);
}

static void table_free(struct table *table)
{
    if (!table)
        return;
    vec_each(char *const, cell, &table->cells)
        free(*cell);
    vec_done(&table->cells);
    text_done(&table->names);
    text_done(&table->last_name);
    free(table);
}
DEFINE_CLEANUP(struct table *, table_free);

static bool is_key(const struct column *column)
{
    return column->flags & (COLUMN_KEY | COLUMN_NAME);
}

/* Takes width away from the widest of the columns that give way, down to `least`. Returns what is
 * still too much. */
static size_t shrink(struct table *table, size_t excess, bool keys, size_t least)
{
    while (excess > 0) {
        size_t widest = MAX_COLUMNS;
        for (size_t i = 0; i < table->shown_count; i++) {
            const struct column *column = column_of(table, i);
            const bool gives =
                keys ? is_key(column) : column->flags & COLUMN_TRUNCATE && !is_key(column);
            const size_t kept = MAX(least, table->least[i]);
            const size_t most = MAX(kept, strlen(column->title));
            if (gives && table->width[i] > most &&
                (widest == MAX_COLUMNS || table->width[i] > table->width[widest]))
                widest = i;
        }
        if (widest == MAX_COLUMNS)
            return excess;
        table->width[widest]--;
        excess--;
    }
    return 0;
}

/* By how much the table is too wide, each column as wide as its cells. */
static size_t natural_excess(struct table *table, size_t width)
{
    size_t total = table->shown_count - 1;

    for (size_t i = 0; i < table->shown_count; i++) {
        table->width[i] = table->natural[i];
        total += table->width[i];
    }
    return total > width ? total - width : 0;
}

/* The column to be left out next; MAX_COLUMNS if all that is left tells rows apart. */
static size_t least_wanted(const struct table *table)
{
    size_t last = MAX_COLUMNS;

    for (size_t i = 0; i < table->shown_count; i++)
        if (!is_key(column_of(table, i)) &&
            (last == MAX_COLUMNS || column_of(table, i)->flags & COLUMN_WIDE ||
             !(column_of(table, last)->flags & COLUMN_WIDE)))
            last = i;
    return last;
}

/* A column of the row has its cells in each shown_count'th place. */
static void leave_out(struct table *table, size_t at)
{
    const size_t count = table->shown_count;
    size_t kept = 0;

    table->hidden[table->shown[at]] = true;
    for (size_t i = 0; i < table->cells.count; i++) {
        if (i % count == at)
            free(table->cells.items[i]);
        else
            table->cells.items[kept++] = table->cells.items[i];
    }
    table->cells.count = kept;
    table->shown_count--;
    memmove(&table->shown[at], &table->shown[at + 1], (count - at - 1) * sizeof(table->shown[0]));
    memmove(&table->natural[at], &table->natural[at + 1],
            (count - at - 1) * sizeof(table->natural[0]));
    memmove(&table->least[at], &table->least[at + 1], (count - at - 1) * sizeof(table->least[0]));
}

static void fit(struct table *table, size_t width)
{
    for (;;) {
        size_t excess = natural_excess(table, width);
        if (width == 0 || shrink(table, excess, false, CUT_LEAST) == 0)
            return;
        const size_t least = least_wanted(table);
        if (table->chosen || table->bare || least == MAX_COLUMNS)
            break;
        leave_out(table, least);
    }
    size_t excess = natural_excess(table, width);
    excess = shrink(table, excess, false, CUT_LEAST);
    (void)shrink(table, excess, true, FOLD_LEAST);
}

/* How many bytes of the text fit into so many columns. */
static size_t bytes_within(const char *text, size_t width, size_t *ret_width)
{
    size_t at = 0, used = 0, bytes;

    while (text[at]) {
        const size_t next = char_width(text + at, &bytes);
        if (used + next > width)
            break;
        used += next;
        at += bytes;
    }
    *ret_width = used;
    return at;
}

static void pad(struct text *line, size_t count)
{
    while (count-- > 0)
        text_add_char(line, ' ');
}

/* Adds the part of a cell that stands in this line, and moves `*rest` behind it. */
static void add_cell(const struct table *table, size_t at, const char **rest, struct text *line)
{
    const struct column *column = column_of(table, at);
    const size_t width = table->width[at], dots = text_width(table->ellipsis);
    const char *color = table->color && column->flags & COLUMN_STATE ? state_color(*rest) : NULL;
    const bool cut = text_width(*rest) > width && !is_key(column);
    size_t used;
    const size_t bytes = bytes_within(*rest, cut ? width - MIN(dots, width) : width, &used);

    if (cut)
        used += dots;
    if (column->flags & COLUMN_RIGHT)
        pad(line, width - MIN(used, width));
    text_add(line, color ? color : "");
    text_add_bytes(line, *rest, bytes);
    text_add(line, cut ? table->ellipsis : "");
    text_add(line, color ? "\033[0m" : "");
    if (!(column->flags & COLUMN_RIGHT) && at + 1 < table->shown_count)
        pad(line, width - MIN(used, width));
    *rest = cut ? "" : *rest + bytes;
}

static bool is_left(const char *const *rest, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (*rest[i])
            return true;
    return false;
}

static int print_row(const struct table *table, const char *const *cells)
{
    const char *rest[MAX_COLUMNS];

    for (size_t i = 0; i < table->shown_count; i++)
        rest[i] = cells[i];
    do {
        AUTOTEXT struct text line = { 0 };
        for (size_t i = 0; i < table->shown_count; i++) {
            text_add(&line, i > 0 ? " " : "");
            add_cell(table, i, &rest[i], &line);
        }
        while (line.length > 0 && line.data[line.length - 1] == ' ')
            text_truncate(&line, line.length - 1);
        if (text_error(&line) < 0)
            return -ENOMEM;
        puts(text_str(&line));
    } while (is_left(rest, table->shown_count));
    return 0;
}

static int print_rows(struct table *table)
{
    const char *titles[MAX_COLUMNS];
    int r = 0;

    if (table->cells.count == 0)
        return 0;
    fit(table, window_width());
    for (size_t i = 0; i < table->shown_count; i++)
        titles[i] = column_of(table, i)->title;
    if (!table->bare)
        r = print_row(table, titles);
    for (size_t i = 0; r == 0 && i < table->cells.count; i += table->shown_count)
        r = print_row(table, (const char *const *)&table->cells.items[i]);
    return r;
}

/* The titles of columns without room, in their order; nothing if all are shown. */
static void add_hidden(struct text *out, const struct table *table)
{
    const char *separator = "No room for: ";

    for (size_t i = 0; table->columns[i].title; i++) {
        if (!table->hidden[i])
            continue;
        text_addf(out, "%s%s", separator, table->columns[i].title);
        separator = ", ";
    }
    if (*separator == ',')
        text_add(out, " (a wider terminal, or -c)\n");
}

int table_print(struct table *table, const char *footer, ...)
{
    CLEANUP(table_freep) struct table *owned = table;
    AUTOTEXT struct text below = { 0 };
    va_list args;

    if (owned && !owned->failed && owned->by_name)
        (void)fputs(text_str(&owned->names), stdout);
    else if (!owned || owned->failed || print_rows(owned) < 0) {
        fprintf(stderr, "agentctl: cannot print the table: %s\n", strerror(ENOMEM));
        return EXIT_FAILED;
    }
    if (owned->bare)
        return EXIT_OK;
    text_add(&below, owned->cells.count > 0 ? "\n" : "");
    va_start(args, footer);
    text_vaddf(&below, footer, args);
    va_end(args);
    add_hidden(&below, owned);
    return print_lines(&below, EXIT_OK);
}
