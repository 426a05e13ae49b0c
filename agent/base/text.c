// SPDX-License-Identifier: Apache-2.0
/* Growing text with a sticky error; see text.h. */
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/vec.h"

enum { DISTANCE_MAX_LENGTH = 64 }; /* longer words are not compared */

static bool text_reserve(struct text *text, size_t more)
{
    if (text->failed)
        return false;
    int r = vec_reserve_raw((void **)&text->data, text->length, &text->capacity, 1, more + 1);
    if (r < 0)
        text->failed = true;
    return r == 0;
}

void text_add_bytes(struct text *text, const char *bytes, size_t count)
{
    if (!text_reserve(text, count))
        return;
    if (count)
        memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_char(struct text *text, char c)
{
    text_add_bytes(text, &c, 1);
}

void text_vaddf(struct text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) {
        text->failed = true;
        return;
    }
    if (!text_reserve(text, (size_t)length))
        return;
    (void)vsnprintf(text->data + text->length, (size_t)length + 1, format, args);
    text->length += (size_t)length;
}

void text_addf(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vaddf(text, format, args);
    va_end(args);
}

void text_add_count(struct text *text, int64_t count, const char *singular)
{
    size_t length = strlen(singular);
    const char *plural = length > 0 && strchr("sx", singular[length - 1]) ? "es" : "s";

    text_addf(text, "%" PRId64 " %s%s", count, singular, count == 1 ? "" : plural);
}

void text_truncate(struct text *text, size_t length)
{
    if (length >= text->length)
        return;
    text->length = length;
    text->data[length] = '\0';
}

int text_error(const struct text *text)
{
    return text->failed ? -ENOMEM : 0;
}

const char *text_str(const struct text *text)
{
    return text->data ? text->data : "";
}

char *text_take(struct text *text)
{
    text_add_bytes(text, "", 0);
    char *string = text->failed ? NULL : TAKE_PTR(text->data);
    text_done(text);
    return string;
}

void text_done(struct text *text)
{
    free(text->data);
    *text = (struct text){ 0 };
}

char *text_format(const char *format, ...)
{
    struct text text = { 0 };
    va_list args;
    va_start(args, format);
    text_vaddf(&text, format, args);
    va_end(args);
    return text_take(&text);
}

size_t text_distance(const char *a, const char *b)
{
    size_t rows[3][DISTANCE_MAX_LENGTH + 1]; /* the last three; row i is rows[i % 3] */
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > DISTANCE_MAX_LENGTH || b_length > DISTANCE_MAX_LENGTH)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *swapped = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t change = above[j - 1] + (a[i - 1] != b[j - 1]);
            size_t step = 1 + MIN(above[j], row[j - 1]);
            row[j] = MIN(change, step);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = MIN(row[j], swapped[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}
