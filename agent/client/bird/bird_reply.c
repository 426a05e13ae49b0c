// SPDX-License-Identifier: Apache-2.0
/*
 * The framing of BIRD's control protocol. The client feeds the bytes it reads from the socket;
 * bird_parse.c reads the lines of a complete reply.
 *
 * BIRD writes lines of at most some 500 bytes, so a longer line, a NUL, or a continuation line
 * without a first line means that the peer is not BIRD. The text of a reply is one allocation with
 * offsets into it, so that a hundred thousand lines need two allocations.
 */
#include "client/bird/bird_reply.h"

#include <errno.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "NNNN-" or "NNNN ": returns the code, or -EPROTO. */
static int line_code(const char *line, size_t length)
{
    if (length < 5 || (line[4] != '-' && line[4] != ' '))
        return -EPROTO;
    int code = 0;
    for (int i = 0; i < 4; i++) {
        if (!is_digit(line[i]))
            return -EPROTO;
        code = code * 10 + (line[i] - '0');
    }
    return code;
}

static int add_line(struct bird_reply *reply, unsigned code, const char *text, size_t length)
{
    if (length + 1 > BIRD_REPLY_MAX - reply->text.length)
        return -EFBIG;
    struct bird_line line = { .code = (uint16_t)code, .offset = (uint32_t)reply->text.length };
    text_add_bytes(&reply->text, text, length);
    text_add_char(&reply->text, '\0');
    int r = text_error(&reply->text);
    return r < 0 ? r : vec_push(&reply->lines, line);
}

static int take_line(struct bird_reply *reply, char *line, size_t length)
{
    if (memchr(line, '\0', length))
        return -EPROTO;
    line[length] = '\0';
    if (line[0] == '+') {
        if (reply->unasked)
            reply->unasked(line + 1, reply->context);
        return 0;
    }
    if (line[0] == ' ') {
        if (reply->lines.count == 0)
            return -EPROTO;
        unsigned code = reply->lines.items[reply->lines.count - 1].code;
        return add_line(reply, code, line + 1, length - 1);
    }
    int code = line_code(line, length);
    if (code < 0)
        return code;
    int r = add_line(reply, (unsigned)code, line + 5, length - 5);
    if (r < 0)
        return r;
    reply->complete = line[4] == ' ';
    return 0;
}

int bird_reply_feed(struct bird_reply *reply, const char *bytes, size_t size, size_t *ret_used)
{
    size_t used = 0;
    while (used < size && !reply->complete) {
        const char *end = memchr(bytes + used, '\n', size - used);
        size_t length = end ? (size_t)(end - bytes) - used : size - used;
        if (length > BIRD_LINE_MAX - reply->partial_length)
            return -EFBIG;
        memcpy(reply->partial + reply->partial_length, bytes + used, length);
        reply->partial_length += length;
        used += length;
        if (!end)
            break;
        used++;
        int r = take_line(reply, reply->partial, reply->partial_length);
        if (r < 0)
            return r;
        reply->partial_length = 0;
    }
    *ret_used = used;
    return 0;
}

const char *bird_reply_text(const struct bird_reply *reply, const struct bird_line *line)
{
    return reply->text.data + line->offset;
}

unsigned bird_reply_code(const struct bird_reply *reply)
{
    return reply->lines.items[reply->lines.count - 1].code;
}

const char *bird_reply_last(const struct bird_reply *reply)
{
    return bird_reply_text(reply, &reply->lines.items[reply->lines.count - 1]);
}

bool bird_reply_ok(const struct bird_reply *reply)
{
    return bird_reply_code(reply) < 8000;
}

void bird_reply_clear(struct bird_reply *reply)
{
    vec_done(&reply->lines);
    text_done(&reply->text);
    reply->complete = false;
    reply->partial_length = 0;
}
