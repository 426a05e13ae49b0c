// SPDX-License-Identifier: Apache-2.0
/*
 * Go's way of writing JSON; see json_go.h. Called by plan/ for documents that
 * kube-service-exporter wrote before, to make the same ones and to compare them.
 *
 * Go writes a double with the fewest digits that read back as the same one (strconv.FormatFloat
 * with precision -1): in the form of %f from 1e-6 up to 1e21, else in that of %e with an exponent
 * that has no leading zero. The fewest digits are found by trying: printf() rounds correctly in
 * glibc, and 17 digits are always enough.
 */
#include "format/json_go.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/utf8.h"

enum { DOUBLE_DIGITS = 17, DOUBLE_LEN = 32 };

static void add_escaped(struct text *out, uint32_t code)
{
    switch (code) {
    case '"':
        text_add(out, "\\\"");
        return;
    case '\\':
        text_add(out, "\\\\");
        return;
    case '\n':
        text_add(out, "\\n");
        return;
    case '\r':
        text_add(out, "\\r");
        return;
    case '\t':
        text_add(out, "\\t");
        return;
    default:
        text_addf(out, "\\u%04x", (unsigned)code);
    }
}

static bool is_escaped(uint32_t code)
{
    return code < ' ' || code == '"' || code == '\\' || code == '<' || code == '>' || code == '&' ||
           code == 0x2028 || code == 0x2029;
}

void json_go_string(struct text *out, const char *string)
{
    struct utf8 utf8 = { 0 };
    const char *start = string;
    text_add_char(out, '"');
    for (const char *at = string; *at; at++) {
        uint32_t code;
        int r = utf8_push(&utf8, (uint8_t)*at, &code);
        if (r == 0)
            continue;
        if (r < 0)
            text_add(out, "\\ufffd");
        else if (is_escaped(code))
            add_escaped(out, code);
        else
            text_add_bytes(out, start, (size_t)(at + 1 - start));
        start = at + 1;
    }
    if (*start)
        text_add(out, "\\ufffd");
    text_add_char(out, '"');
}

/* "d.ddde-07": without the zero that printf() puts before a short exponent. */
static void add_exponent_form(struct text *out, char *printed)
{
    char *exponent = strchr(printed, 'e');
    if (exponent && exponent[2] == '0' && exponent[3] && !exponent[4]) {
        exponent[2] = exponent[3];
        exponent[3] = '\0';
    }
    text_add(out, printed);
}

static void add_double(struct text *out, double value)
{
    char printed[DOUBLE_LEN];
    int digits = 0;
    do {
        (void)snprintf(printed, sizeof(printed), "%.*e", digits, value);
    } while (strtod(printed, NULL) != value && ++digits < DOUBLE_DIGITS);
    double size = fabs(value);
    if (size != 0 && (size < 1e-6 || size >= 1e21)) {
        add_exponent_form(out, printed);
        return;
    }
    int exponent = atoi(strchr(printed, 'e') + 1);
    int decimals = digits > exponent ? digits - exponent : 0;
    if (exponent <= digits) {
        text_addf(out, "%.*f", decimals, value);
        return;
    }
    /* Digits behind the significant ones are zeros, not those of the double's exact value. */
    size_t begin = out->length;
    for (const char *at = printed; *at != 'e'; at++) {
        if (*at != '.')
            text_add_char(out, *at);
    }
    for (size_t want = begin + (size_t)exponent + 1 + (*printed == '-'); out->length < want;) {
        text_add_char(out, '0');
        if (out->failed)
            return;
    }
}

bool json_go_number(const struct doc *scalar, double *ret_value)
{
    if (scalar->type != DOC_SCALAR || scalar->quoted ||
        !(*scalar->text == '-' || (*scalar->text >= '0' && *scalar->text <= '9')))
        return false;
    *ret_value = strtod(scalar->text, NULL);
    return true;
}

static int member_cmp(const void *a, const void *b)
{
    const struct doc *const *left = a, *const *right = b;
    return strcmp((*left)->key, (*right)->key);
}

const struct doc **json_go_members(const struct doc *map)
{
    const struct doc **members = map->count ? malloc(map->count * sizeof(*members)) : NULL;
    if (!members)
        return NULL;
    size_t count = 0;
    doc_each(member, map)
        members[count++] = member;
    qsort(members, count, sizeof(*members), member_cmp);
    return members;
}

static int add_map(struct text *out, const struct doc *map)
{
    AUTOFREE const struct doc **members = json_go_members(map);
    if (!members && map->count)
        return -ENOMEM;
    text_add_char(out, '{');
    for (uint32_t i = 0; i < map->count; i++) {
        text_add(out, i ? "," : "");
        json_go_string(out, members[i]->key);
        text_add_char(out, ':');
        int r = json_go_value(out, members[i]);
        if (r < 0)
            return r;
    }
    text_add_char(out, '}');
    return text_error(out);
}

static int add_list(struct text *out, const struct doc *list)
{
    text_add_char(out, '[');
    doc_each(item, list) {
        text_add(out, item->index ? "," : "");
        int r = json_go_value(out, item);
        if (r < 0)
            return r;
    }
    text_add_char(out, ']');
    return text_error(out);
}

static int add_scalar(struct text *out, const struct doc *scalar)
{
    double number;
    if (scalar->quoted) {
        json_go_string(out, scalar->text);
    } else if (json_go_number(scalar, &number)) {
        if (!isfinite(number))
            return -ERANGE;
        add_double(out, number);
    } else {
        text_add(out, scalar->text); /* true or false */
    }
    return text_error(out);
}

/* As deep as the reader lets a value be. */
int json_go_value(struct text *out, const struct doc *value)
{
    switch (value->type) {
    case DOC_MAP:
        return add_map(out, value);
    case DOC_LIST:
        return add_list(out, value);
    case DOC_SCALAR:
        return add_scalar(out, value);
    case DOC_NULL:
        break;
    }
    text_add(out, "null");
    return text_error(out);
}
