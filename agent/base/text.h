/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that grows. Appending never fails on the spot: the first failed allocation is remembered
 * and text_take() or text_error() reports it, so that a printer needs one check at its end.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"

struct text {
    char *data; /* NUL-terminated once anything was added; NULL before */
    size_t length, capacity;
    bool failed;
};

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t count);
void text_add_char(struct text *text, char c);
void text_addf(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
void text_vaddf(struct text *text, const char *format, va_list args) PRINTF_LIKE(2, 0);

/* "1 fault", "2 faults", "3 addresses". */
void text_add_count(struct text *text, int64_t count, const char *singular);

/* Cuts the text back to `length` bytes. */
void text_truncate(struct text *text, size_t length);

/* 0, or -ENOMEM if any append failed. */
int text_error(const struct text *text);

/* The content so far, never NULL; "" when empty. Borrowed until the next change. */
const char *text_str(const struct text *text);

/* The content as a string that the caller frees, or NULL if any append failed; text is empty after.
 */
char *text_take(struct text *text);

void text_done(struct text *text);

#define AUTOTEXT CLEANUP(text_done)

/* A newly allocated string, or NULL without memory. */
char *text_format(const char *format, ...) PRINTF_LIKE(1, 2);

/*
 * The number of letters to insert, drop or change, or of neighbours to swap, to make `b` of `a`:
 * how near a misspelling is. SIZE_MAX where one of them is longer than names are.
 */
size_t text_distance(const char *a, const char *b);
