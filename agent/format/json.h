/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON straight into growing text: no tree. The writer keeps track of commas and nesting;
 * `key` is NULL inside arrays and for the outermost value. Errors stick in the text.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct json {
    struct text *out;
    bool comma; /* a value came before in this object or array */
};

void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);

/* NULL gives null. Bytes that are not UTF-8 are written as U+FFFD. */
void json_string(struct json *json, const char *key, const char *value);
void json_stringf(struct json *json, const char *key, const char *format, ...) PRINTF_LIKE(3, 4);
void json_int(struct json *json, const char *key, int64_t value);
void json_double(struct json *json, const char *key, double value); /* 3 decimals */
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
/* Text that is a JSON value already. */
void json_raw(struct json *json, const char *key, const char *value);
/* RFC 3339 of a wall clock time in ms; 0 gives null. */
void json_time(struct json *json, const char *key, int64_t wall_ms);
