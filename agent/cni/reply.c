// SPDX-License-Identifier: Apache-2.0
/* Takes an HTTP reply apart; see reply.h. Of its fields, those matter that say where it ends. */
#include "cni/reply.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { STATUS_LENGTH = 12 }; /* "HTTP/1.1 200" */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int parse_status(const char *bytes, size_t size, long *ret_status)
{
    if (size < STATUS_LENGTH || strncmp(bytes, "HTTP/1.", 7) != 0 || !is_digit(bytes[7]) ||
        bytes[8] != ' ')
        return -EPROTO;
    long status = 0;
    for (size_t i = 9; i < STATUS_LENGTH; i++) {
        if (!is_digit(bytes[i]))
            return -EPROTO;
        status = status * 10 + (bytes[i] - '0');
    }
    *ret_status = status;
    return status < 100 ? -EPROTO : 0;
}

/* The value of a field's line, or NULL if the line is of another field. */
static const char *value_of(const char *line, const char *field)
{
    size_t length = strlen(field);
    if (strncasecmp(line, field, length) != 0 || line[length] != ':')
        return NULL;
    line += length + 1;
    return line + strspn(line, " \t");
}

static int check_length(const char *line, size_t body_size)
{
    const char *value = value_of(line, "Content-Length");
    if (value) {
        char *end;
        errno = 0;
        unsigned long long length = is_digit(*value) ? strtoull(value, &end, 10) : 0;
        if (!is_digit(*value) || errno || length != body_size)
            return -EPROTO;
    }
    return value_of(line, "Transfer-Encoding") ? -EPROTO : 0;
}

int reply_parse(const char *bytes, size_t size, long *ret_status, const char **ret_body)
{
    int r = parse_status(bytes, size, ret_status);
    const char *end = r == 0 ? strstr(bytes, "\r\n\r\n") : NULL;
    if (!end)
        return -EPROTO;
    const char *body = end + 4;
    for (const char *line = strstr(bytes, "\r\n"); line != end; line = strstr(line, "\r\n")) {
        line += 2;
        r = check_length(line, size - (size_t)(body - bytes));
        if (r < 0)
            return r;
    }
    *ret_body = body;
    return 0;
}
