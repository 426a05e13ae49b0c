/* SPDX-License-Identifier: Apache-2.0 */
/* How things look: tables, state words in colour, faults, counts. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "agentctl/ctl.h"
#include "base/macro.h"
#include "base/text.h"
#include "format/doc.h"

enum column_flag {
    COLUMN_RIGHT = 1 << 0,    /* numbers */
    COLUMN_TRUNCATE = 1 << 1, /* cut on a narrow terminal, with an ellipsis */
    COLUMN_STATE = 1 << 2,    /* a state word: coloured */
    COLUMN_WIDE = 1 << 3,     /* only with -o wide, or if asked for by name */
    COLUMN_NAME = 1 << 4,     /* what -o name prints; several are joined by "/" */
    COLUMN_KEY = 1 << 5,      /* as NAME, tells rows apart: never cut, always shown */
    COLUMN_LIST = 1 << 6,     /* with TRUNCATE: items between commas, the first is never cut */
};

/* A table's columns are an array that ends with a NULL title. */
struct column {
    const char *title;
    unsigned flags;
};

/* EXIT_OK if each of the names (-c) is a column, in any case and with "-" for a space; else
 * EXIT_USAGE, after saying which ones there are. */
int columns_check(const struct column *columns, const char *names);

struct table;

/* NULL without memory; the functions below accept that, and table_print() reports it. */
struct table *table_new(const struct ctl *ctl, const struct column *columns);
/* Adds a row; there are as many cells as columns, shown or not. "" is shown as "-". */
void table_row(struct table *table, const char *const *cells);
/* Prints it with a footer below (printf), frees it, and returns an exit status. */
int table_print(struct table *table, const char *footer, ...) PRINTF_LIKE(2, 3);

/* The word, coloured if wanted, padded to `width`. */
void add_state(struct text *out, const struct ctl *ctl, const char *word, int width);

/* The escape sequence that colours a state word; NULL for none. */
const char *state_color(const char *word);

/* A kernel table as `ip` calls it: "main" for 254; others by their number. */
const char *table_word(const char *number);

/* Columns of the terminal at standard output; 0 if that is none. */
size_t window_width(void);

/* How many columns the character takes, and its bytes; what is none in this locale is a byte. */
size_t char_width(const char *at, size_t *ret_bytes);

/* Text of others' making: control characters can't reach the terminal. */
void add_clean(struct text *out, const char *string);

/* "850 bytes", "1.2 MiB". */
void add_bytes(struct text *out, int64_t bytes);

/* An item of a FaultList in two lines: what is wrong and for how long, and what to do. */
void add_fault(struct text *out, const struct doc *fault, const char *indent);

/* Where an object comes from: BEFORE "web.yaml:12", or "Kubernetes"; nothing if it is gone. */
void add_source(struct text *out, const char *before, const struct doc *object);

/* "BEFORE 4m ago"; nothing if the time is missing. */
void add_age(struct text *out, const struct doc *map, const char *key, const char *before);

/* Writes the text to standard output. Returns `status`, or EXIT_FAILED if that was impossible. */
int print_text(struct text *out, int status);
/* The same for lines of words: on a terminal, those that are too long are broken. */
int print_lines(struct text *out, int status);
/* Prints a document as it is. */
int print_body(const char *body, int status);
