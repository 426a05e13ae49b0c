/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One reply of BIRD's control protocol, taken in as the bytes come.
 *
 *     1002-text      an item with code 1002; more follows
 *      text          (a blank first) the same code again
 *     0000 text      the last line, perhaps without text
 *     +text          said unasked: a line of BIRD's log
 *
 * Meaning is in the codes: 0xxx done, 1xxx an entry, 2xxx a heading, 8xxx and 9xxx refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "base/vec.h"

enum {
    BIRD_LINE_MAX = 4096,
    BIRD_REPLY_MAX = 4 * 1024 * 1024, /* of text, without the codes */
};

struct bird_line {
    uint16_t code;
    uint32_t offset; /* in the reply's text */
};

struct bird_reply {
    VEC(struct bird_line) lines; /* the last one ends the reply */
    struct text text;            /* every line's, each with a NUL behind it */
    bool complete;
    /*
     * Lines that BIRD sends unasked ("+") are passed here as they arrive; NULL: they are dropped.
     */
    void (*unasked)(const char *line, void *context);
    void *context;
    /* The line that is not complete yet. */
    size_t partial_length;
    char partial[BIRD_LINE_MAX + 1];
};

/*
 * Reads bytes up to the end of a reply. Returns 0 with the number of bytes used: less than `size`
 * only if the reply is complete. -EPROTO if the bytes are not in the protocol, -EFBIG above a
 * limit, -ENOMEM; after an error no more bytes may be fed.
 */
int bird_reply_feed(struct bird_reply *reply, const char *bytes, size_t size, size_t *ret_used);

/* A line's text without its code. Borrowed until the next feed. */
const char *bird_reply_text(const struct bird_reply *reply, const struct bird_line *line);

/* The code and text of the last line of a complete reply. */
unsigned bird_reply_code(const struct bird_reply *reply);
const char *bird_reply_last(const struct bird_reply *reply);

/* True if BIRD executed the command: the code is below 8000. */
bool bird_reply_ok(const struct bird_reply *reply);

/* Prepares for the next reply and frees memory. */
void bird_reply_clear(struct bird_reply *reply);
