/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts JSON text that comes in chunks of any size into values, each given back as its text.
 *
 * A tree of a whole List would take some fifteen times the size of its text; cut, one element is
 * in memory at a time. Files come through json_reader.h; what a server sends is pushed as it comes:
 * a List with `cut_items`, a watch, which is one object after the other, without.
 *
 *     json_splitter_push(splitter, bytes, size);
 *     while ((r = json_splitter_next(splitter, &part, faults)) != 0)
 *         r > 0: use the part; -EMSGSIZE: that value is lost, go on; otherwise: this was the end
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "format/json_value.h"
#include "format/reader.h"

enum json_part_kind {
    JSON_WHOLE, /* a value at the top with all that is in it */
    JSON_ITEM,  /* an element of the list `items` of an object at the top */
    JSON_FRAME, /* that object, after its items: its text has an empty list in their place */
};

/* A value's text, borrowed until the next call. Its bytes are as they came: nothing says yet that
 * they are JSON, or UTF-8, or free of NUL; a NUL follows them in any case. */
struct json_part {
    enum json_part_kind kind;
    const char *text;
    size_t length;
    struct json_origin origin;
};

struct json_splitter;

/*
 * `file` names the text in faults and is borrowed. Of `limits`, document_bytes and depth hold for
 * each value, and for a frame. `cut_items`: elements of `items` come one by one; without it every
 * value at the top is whole. NULL: no memory.
 */
struct json_splitter *json_splitter_new(const char *file, const struct reader_limits *limits,
                                        bool cut_items);

/* The next bytes, borrowed until json_splitter_next() has returned 0. */
void json_splitter_push(struct json_splitter *splitter, const char *bytes, size_t size);

/* No bytes come any more. */
void json_splitter_end(struct json_splitter *splitter);

/*
 * The next value. Returns
 * 1 and the value;
 * 0 where more bytes must be pushed, or, after json_splitter_end(), where all has come out;
 * -EMSGSIZE for a whole value or an item that is too long, too deep or of too many parts: a fault
 *   says so, *ret_part has the text up to there, the rest is passed over;
 * -EBADMSG after adding a fault where the values can't be told from each other, or the text ends
 *   inside one; -ENOMEM. After these two nothing comes any more: every further call returns 0.
 */
int json_splitter_next(struct json_splitter *splitter, struct json_part *ret_part,
                       struct faults *faults);

/* What stands before the item that has come out: up to the bracket before it, or with the last item
 * the one behind. Borrowed until the next call. */
const char *json_splitter_head(const struct json_splitter *splitter);

void json_splitter_free(struct json_splitter *splitter);
DEFINE_CLEANUP(struct json_splitter *, json_splitter_free);
