/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a file or a string, in chunks, checked: what comes out is UTF-8 text of bounded
 * length, without control characters. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "format/place.h"
#include "format/reader.h"
#include "format/utf8.h"

struct input {
    int fd;            /* -1: the bytes are in memory */
    const char *bytes; /* borrowed */
    size_t left;
    const char *file; /* borrowed */
    enum reader_format format;
    uint64_t limit, total;         /* bytes that may come, and that came */
    struct place place, character; /* after what came; where its last character begins */
    struct utf8 utf8;
};

enum { INPUT_MIN = 4 }; /* the least room that input_read() wants: it must see a byte order mark */

void input_init(struct input *input, const char *file, enum reader_format format, uint64_t limit);

/* Reads up to `size` bytes; *ret_size is 0 at the end. Returns 0; -EBADMSG, or what read() said,
 * after adding a fault. */
int input_read(struct input *input, char *buffer, size_t size, size_t *ret_size,
               struct faults *faults);

/* Closes the descriptor. */
void input_done(struct input *input);
