// SPDX-License-Identifier: Apache-2.0
/*
 * The JSON writer: the API's documents, and what `agentctl --json` prints. Values go straight into
 * the text; the only state is whether a comma is due.
 *
 * Output is always valid JSON, whatever the strings hold: control characters are escaped, bytes
 * that are not UTF-8 become U+FFFD, one for each maximal part of a broken sequence, as browsers
 * do. Numbers don't depend on the locale.
 */
#include "format/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "format/utf8.h"

static void add_escaped(struct text *out, uint8_t c)
{
    switch (c) {
    case '"':
    case '\\':
        text_add_char(out, '\\');
        text_add_char(out, (char)c);
        break;
    case '\n':
        text_add(out, "\\n");
        break;
    case '\r':
        text_add(out, "\\r");
        break;
    case '\t':
        text_add(out, "\\t");
        break;
    default:
        text_addf(out, "\\u%04x", c);
    }
}

static bool needs_escape(uint8_t c)
{
    return c < 0x20 || c == '"' || c == '\\' || c == 0x7f;
}

static void add_string(struct text *out, const char *value)
{
    static const char replacement[] = "\xef\xbf\xbd";
    struct utf8 utf8 = { 0 };
    const char *begin = value; /* of what is not written yet: good characters */
    const char *character = value;

    text_add_char(out, '"');
    while (*value) {
        uint32_t code;
        if (utf8.need == 0)
            character = value;
        bool first = character == value;
        int r = utf8_push(&utf8, (uint8_t)*value, &code);
        if (r < 0 || (r > 0 && needs_escape((uint8_t)*value))) {
            text_add_bytes(out, begin, (size_t)(character - begin));
            if (r < 0)
                text_add(out, replacement);
            else
                add_escaped(out, (uint8_t)*value);
            /* A byte that broke a sequence may begin the next. */
            value += r > 0 || first;
            begin = character = value;
        } else {
            value++;
        }
    }
    text_add_bytes(out, begin, (size_t)((utf8.need ? character : value) - begin));
    if (utf8.need)
        text_add(out, replacement);
    text_add_char(out, '"');
}

/* The comma and the key before a value. */
static void add_lead(struct json *json, const char *key)
{
    if (json->comma)
        text_add_char(json->out, ',');
    if (key) {
        add_string(json->out, key);
        text_add_char(json->out, ':');
    }
    json->comma = true;
}

static void begin(struct json *json, const char *key, char bracket)
{
    add_lead(json, key);
    text_add_char(json->out, bracket);
    json->comma = false;
}

static void end(struct json *json, char bracket)
{
    text_add_char(json->out, bracket);
    json->comma = true;
}

void json_begin_object(struct json *json, const char *key)
{
    begin(json, key, '{');
}

void json_end_object(struct json *json)
{
    end(json, '}');
}

void json_begin_array(struct json *json, const char *key)
{
    begin(json, key, '[');
}

void json_end_array(struct json *json)
{
    end(json, ']');
}

void json_string(struct json *json, const char *key, const char *value)
{
    if (!value) {
        json_null(json, key);
        return;
    }
    add_lead(json, key);
    add_string(json->out, value);
}

void json_stringf(struct json *json, const char *key, const char *format, ...)
{
    AUTOTEXT struct text value = { 0 };
    va_list args;
    va_start(args, format);
    text_vaddf(&value, format, args);
    va_end(args);
    if (text_error(&value) < 0)
        json->out->failed = true;
    json_string(json, key, text_str(&value));
}

void json_int(struct json *json, const char *key, int64_t value)
{
    add_lead(json, key);
    text_addf(json->out, "%" PRId64, value);
}

void json_double(struct json *json, const char *key, double value)
{
    /* Whole thousandths as integers: no decimal comma of a locale, no exponent. */
    double thousandths = round(fabs(value) * 1000);
    if (!isfinite(value) || thousandths >= 9e18) {
        json_null(json, key);
        return;
    }
    int64_t whole = (int64_t)thousandths;
    add_lead(json, key);
    text_addf(json->out, "%s%" PRId64 ".%03d", value < 0 && whole > 0 ? "-" : "", whole / 1000,
              (int)(whole % 1000));
}

void json_bool(struct json *json, const char *key, bool value)
{
    add_lead(json, key);
    text_add(json->out, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    add_lead(json, key);
    text_add(json->out, "null");
}

void json_raw(struct json *json, const char *key, const char *value)
{
    add_lead(json, key);
    text_add(json->out, value);
}

void json_time(struct json *json, const char *key, int64_t wall_ms)
{
    char buffer[CLOCK_STRLEN];
    json_string(json, key, wall_ms == 0 ? NULL : clock_rfc3339(wall_ms, buffer));
}
