// SPDX-License-Identifier: Apache-2.0
/*
 * The second look at JSON text, for what json-c leaves out or lets pass (0.16, strict mode).
 *
 * It replaces duplicate keys silently, so the members that are written in each object are counted.
 * Integers beyond 64 bits become the nearest that fits, so numbers are kept as they are written.
 * It takes NaN, Infinity, strings in single quotes, "1." and raw control characters, and cuts a
 * key at \u0000: these are refused here. It keeps no positions, so they are found by walking over
 * the text, which happens only for reports.
 */
#include "format/json_text.h"

#include <errno.h>
#include <string.h>

#include "faults/syntax.h"

static const char number_bytes[] = "0123456789+-.eE";

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

size_t json_skip_space(const char *text, size_t offset)
{
    return offset + strspn(text + offset, " \t\r\n");
}

/* The offset after the string that begins at `offset`. */
static size_t skip_string(const char *text, size_t offset)
{
    for (offset++; text[offset] && text[offset] != '"'; offset++)
        if (text[offset] == '\\' && text[offset + 1])
            offset++;
    return text[offset] ? offset + 1 : offset;
}

static size_t skip_value(const char *text, size_t offset)
{
    size_t depth = 0;
    while (text[offset]) {
        char c = text[offset];
        if (c == '"') {
            offset = skip_string(text, offset);
        } else if (c == '{' || c == '[') {
            depth++;
            offset++;
        } else if (c == '}' || c == ']') {
            if (depth > 0)
                depth--;
            offset++;
        } else {
            offset += depth > 0 ? 1 : strcspn(text + offset, " \t\r\n,]}");
        }
        if (depth == 0)
            break;
    }
    return offset;
}

/* The offset of what is wrong inside the string at `offset`; 0 if nothing is. */
static size_t check_string(const char *text, size_t offset, const struct fault_type **ret_wrong)
{
    for (offset++; text[offset] && text[offset] != '"'; offset++) {
        if ((unsigned char)text[offset] < 0x20) {
            *ret_wrong = &fault_type_json_control_character;
            return offset;
        }
        if (text[offset] != '\\' || !text[offset + 1])
            continue;
        if (strncmp(text + offset, "\\u0000", 6) == 0) {
            *ret_wrong = &fault_type_json_nul;
            return offset;
        }
        offset++;
    }
    return 0;
}

static const struct fault_type *check_number(const char *text)
{
    size_t sign = *text == '-';
    if (!is_digit(text[sign]))
        return &fault_type_json_number_wrong;
    const char *point = text + sign + strspn(text + sign, "0123456789");
    return *point == '.' && !is_digit(point[1]) ? &fault_type_json_digit_missing : NULL;
}

/* Scans the token at *offset and moves behind it. Sets *ret_wrong if it is wrong. */
static int scan_token(struct json_scan *scan, const char *text, size_t *offset, uint32_t *current,
                      const struct fault_type **ret_wrong)
{
    char c = text[*offset];
    if (c == '"') {
        size_t wrong = check_string(text, *offset, ret_wrong);
        *offset = wrong ? wrong : skip_string(text, *offset);
        return 0;
    }
    if (is_digit(c) || c == '-') {
        size_t length = strspn(text + *offset, number_bytes);
        struct json_span number = { (uint32_t)*offset, (uint32_t)length };
        *ret_wrong = check_number(text + *offset);
        *offset += *ret_wrong ? 0 : length;
        return vec_push(&scan->numbers, number);
    }
    if (c == '{') {
        struct json_object_scan object = { .offset = (uint32_t)*offset, .outer = *current };
        int r = vec_push(&scan->objects, object);
        if (r < 0)
            return r;
        *current = (uint32_t)scan->objects.count;
    } else if (c == ':' && *current > 0) {
        scan->objects.items[*current - 1].members++;
    } else if (c == '}' && *current > 0) {
        *current = scan->objects.items[*current - 1].outer;
    } else if (c == '\'' || c == 'N' || c == 'I') {
        *ret_wrong = c == '\'' ? &fault_type_json_quotes_wrong : &fault_type_json_number_wrong;
        return 0;
    }
    (*offset)++;
    return 0;
}

int json_scan(const char *text, struct json_scan *ret_scan, size_t *ret_offset,
              const struct fault_type **ret_wrong)
{
    AUTOSCAN struct json_scan scan = { 0 };
    const struct fault_type *wrong = NULL;
    uint32_t current = 0; /* the innermost open object, plus 1 */
    size_t offset = 0;
    while (text[offset]) {
        int r = scan_token(&scan, text, &offset, &current, &wrong);
        if (r < 0)
            return r;
        if (wrong) {
            *ret_offset = offset;
            *ret_wrong = wrong;
            return -EBADMSG;
        }
    }
    *ret_scan = TAKE_STRUCT(scan);
    return 0;
}

void json_scan_done(struct json_scan *scan)
{
    vec_done(&scan->objects);
    vec_done(&scan->numbers);
}

/* Stands on a key or a value, after white space; goes on to the value. */
static bool reach_value(struct json_cursor *cursor, bool object)
{
    const char *text = cursor->text;
    size_t at = json_skip_space(text, cursor->offset);
    if (object && text[at] == '"') {
        size_t end = skip_string(text, at);
        cursor->key = (struct json_span){ (uint32_t)at, (uint32_t)(end - at) };
        at = json_skip_space(text, end);
        at = json_skip_space(text, at + (text[at] == ':'));
    }
    cursor->offset = at;
    return text[at] != '\0' && text[at] != ']' && text[at] != '}';
}

bool json_enter(struct json_cursor *cursor, const char *text, size_t offset)
{
    *cursor = (struct json_cursor){ .text = text, .offset = offset };
    if (text[offset] != '{' && text[offset] != '[')
        return false;
    cursor->offset++;
    return reach_value(cursor, text[offset] == '{');
}

bool json_next(struct json_cursor *cursor)
{
    const char *text = cursor->text;
    size_t at = json_skip_space(text, skip_value(text, cursor->offset));
    if (text[at] != ',')
        return false;
    cursor->offset = at + 1;
    return reach_value(cursor, cursor->key.length > 0);
}
