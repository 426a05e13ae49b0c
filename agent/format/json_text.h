/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said about JSON text without parsing it: bounds of values, objects' sizes, numbers.
 * All take NUL-terminated text and end at its NUL, whatever it holds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "faults/fault_type.h"

struct json_span {
    uint32_t offset, length;
};

/* An object of the text, and how many members are written in it. */
struct json_object_scan {
    uint32_t offset, members;
    uint32_t outer; /* index of the object around it, plus 1 */
};

/* Objects and numbers in the order in which they begin. */
struct json_scan {
    VEC(struct json_object_scan) objects;
    VEC(struct json_span) numbers;
};

/*
 * Scans text that json-c took for JSON. Returns 0; -ENOMEM; or -EBADMSG, with the offset of what
 * is no JSON after all, or can't be kept in a string that ends at a NUL, and its fault, which has
 * no arguments.
 */
int json_scan(const char *text, struct json_scan *ret_scan, size_t *ret_offset,
              const struct fault_type **ret_wrong);
void json_scan_done(struct json_scan *scan);
#define AUTOSCAN CLEANUP(json_scan_done)

/* The offset after white space. */
size_t json_skip_space(const char *text, size_t offset);

/* Walks over the children of one list or object. */
struct json_cursor {
    const char *text;
    size_t offset;        /* where the child's value begins */
    struct json_span key; /* in an object: its name, quotes included */
};

/* The first child of what begins at `offset`, then the next one; false: there is none. */
bool json_enter(struct json_cursor *cursor, const char *text, size_t offset);
bool json_next(struct json_cursor *cursor);
