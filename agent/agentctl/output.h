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
    COLUMN_TRUNCATE = 1 << 1, /* gives way on a narrow terminal */
    COLUMN_STATE = 1 << 2,    /* a state word: coloured */
};

struct column {
    const char *title;
    unsigned flags;
};

struct table;

/* NULL without memory; the functions below accept that, and table_print() reports it. */
struct table *table_new(const struct ctl *ctl, const struct column *columns, size_t count);
/* Adds a row; there are as many cells as columns. "" is shown as "-". */
void table_row(struct table *table, const char *const *cells);
/* Prints it with a footer below (printf), frees it, and returns an exit status. */
int table_print(struct table *table, const char *footer, ...) PRINTF_LIKE(2, 3);

/* The escape sequence that colours a state word; NULL for none. */
const char *state_color(const char *word);
/* The word, coloured if wanted, padded to `width`. */
void add_state(struct text *out, const struct ctl *ctl, const char *word, int width);

/* Text of others' making: control characters can't reach the terminal. */
void add_clean(struct text *out, const char *string);

/* "1 fault", "2 faults", "3 addresses". */
void add_count(struct text *out, int64_t count, const char *singular);

/* An item of a FaultList in two lines: what is wrong and for how long, and what to do. */
void add_fault(struct text *out, const struct doc *fault, const char *indent);

/* Writes the text to standard output. Returns `status`, or EXIT_FAILED if that was impossible. */
int print_text(struct text *out, int status);
/* Prints a document as it is. */
int print_body(const char *body, int status);
