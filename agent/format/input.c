// SPDX-License-Identifier: Apache-2.0
/*
 * The ground floor of both readers: reads chunks, holds the file's size limit, and checks the
 * encoding before a library sees a byte.
 *
 * It is done here because neither library says where: libyaml gives a byte offset, json-c accepts
 * encoded surrogates. And a NUL would end their strings early.
 * A byte order mark of UTF-8 is dropped, UTF-16 is refused by name. YAML allows fewer characters
 * than JSON: neither DEL nor the C1 controls, but NEL.
 */
#include "format/input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/remedy.h"
#include "faults/documents.h"
#include "faults/syntax.h"

void input_init(struct input *input, const char *file, enum reader_format format, uint64_t limit)
{
    *input = (struct input){
        .fd = -1, .file = file, .format = format, .limit = limit, .place = { 1, 1 }
    };
}

static ssize_t read_some(struct input *input, char *buffer, size_t size)
{
    if (input->fd < 0) {
        size_t count = MIN(size, input->left);
        if (count > 0)
            memcpy(buffer, input->bytes, count);
        input->bytes += count;
        input->left -= count;
        return (ssize_t)count;
    }
    for (;;) {
        ssize_t n = read(input->fd, buffer, size);
        if (n >= 0 || errno != EINTR)
            return n < 0 ? -errno : n;
    }
}

/* Reads until `size` bytes are there or the input ends. */
static ssize_t read_full(struct input *input, char *buffer, size_t size)
{
    size_t have = 0;
    while (have < size) {
        ssize_t n = read_some(input, buffer + have, size - have);
        if (n < 0)
            return n;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

static bool is_allowed(enum reader_format format, uint32_t code)
{
    if (code < 0x20)
        return code == '\t' || code == '\n' || code == '\r';
    if (format == READER_JSON)
        return true;
    return (code < 0x7f || code == 0x85 || code >= 0xa0) && code != 0xfffe && code != 0xffff;
}

/* How many bytes from `at` on are ASCII that both formats take, without line ends. */
static size_t plain_bytes(const char *bytes, size_t at, size_t count)
{
    size_t begin = at;
    while (at < count && bytes[at] >= ' ' && bytes[at] < 0x7f)
        at++;
    return at - begin;
}

static int refuse_byte(const struct input *input, uint8_t byte, struct faults *faults)
{
    char shown[8];
    snprintf(shown, sizeof(shown), "0x%02x", byte);
    return place_raise(input->character, input->file, faults, syntax_not_utf8, .byte = shown);
}

static int refuse_character(const struct input *input, uint32_t code, struct faults *faults)
{
    char shown[24];
    snprintf(shown, sizeof(shown), "U+%04X%s", code, code == 0 ? " (NUL)" : "");
    return place_raise(input->character, input->file, faults, syntax_character_forbidden,
                       .character = shown);
}

static int check_bytes(struct input *input, const char *bytes, size_t count, struct faults *faults)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t code;
        if (input->utf8.need == 0) {
            size_t plain = plain_bytes(bytes, i, count);
            input->place.column += (uint32_t)plain;
            i += plain;
            if (i == count)
                break;
            input->character = input->place;
        }
        int r = utf8_push(&input->utf8, (uint8_t)bytes[i], &code);
        if (r < 0)
            return refuse_byte(input, (uint8_t)bytes[i], faults);
        if (r > 0 && !is_allowed(input->format, code))
            return refuse_character(input, code, faults);
        place_step(&input->place, bytes[i]);
    }
    return 0;
}

/* Looks at the first bytes of the file, drops a mark of UTF-8. */
static int check_mark(struct input *input, char *buffer, size_t *count, struct faults *faults)
{
    if (*count >= 2 && (memcmp(buffer, "\xff\xfe", 2) == 0 || memcmp(buffer, "\xfe\xff", 2) == 0))
        return place_raise(input->place, input->file, faults, syntax_utf16);
    if (*count >= 3 && memcmp(buffer, "\xef\xbb\xbf", 3) == 0) {
        *count -= 3;
        memmove(buffer, buffer + 3, *count);
    }
    return 0;
}

static int check_end(struct input *input, struct faults *faults)
{
    if (input->utf8.need == 0)
        return 0;
    input->utf8.need = 0;
    return place_raise(input->place, input->file, faults, syntax_character_cut);
}

int input_read(struct input *input, char *buffer, size_t size, size_t *ret_size,
               struct faults *faults)
{
    bool first = input->total == 0;
    ssize_t n = first ? read_full(input, buffer, INPUT_MIN) : read_some(input, buffer, size);
    if (n < 0) {
        fault_raise(faults, input->file, document_read_failed, .reason = strerror((int)-n),
                    .remedy = remedy_for_file((int)n));
        return (int)n;
    }
    size_t count = (size_t)n;
    bool too_long = count > input->limit - input->total;
    if (too_long)
        count = (size_t)(input->limit - input->total);
    input->total += count;

    int r = first ? check_mark(input, buffer, &count, faults) : 0;
    if (r < 0)
        return r;
    r = check_bytes(input, buffer, count, faults);
    if (r < 0)
        return r;
    r = n == 0 ? check_end(input, faults) : 0;
    if (r < 0)
        return r;
    if (too_long)
        return place_raise(input->place, input->file, faults, document_file_too_long,
                           .limit = (int64_t)input->limit);
    *ret_size = count;
    return 0;
}

void input_done(struct input *input)
{
    closep(&input->fd);
}
