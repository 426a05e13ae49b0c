/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of a JSON document, and the members that several documents have. view_*.c, trace.c and
 * refusals.c write with them; agentctl's offline documents come from there as well.
 */
#pragma once

#include <stdint.h>

#include "base/fault.h"
#include "base/net/ip.h"
#include "format/json.h"
#include "model/object.h"
#include "status/fault_book.h"

/* The outermost object with "apiVersion" and "kind". */
struct json view_begin(struct text *out, const char *kind);
void view_end(struct json *json);

/* One item of a fault list; `since_wall_ms` 0 gives null, and so does no `cause`. */
void write_fault(struct json *json, const char *subsystem, const char *group,
                 const struct fault *fault, int64_t since_wall_ms, const struct known_fault *cause);

/* The same of one of the book, with its cause; all of them, as a list. */
void write_known_fault(struct json *json, const struct fault_book *book,
                       const struct known_fault *known);
void write_known_faults(struct json *json, const char *key, const struct fault_book *book);

/* "source", "file" and "line" of an object; all null of one that is gone (NULL), the latter two of
 * one that the Kubernetes API has given. */
void write_reading_place(struct json *json, const struct object *object);

/* "10.0.0.1:80", "[fd00::1]:80". */
void write_socket(struct json *json, const char *key, const struct ip *ip, uint16_t port);
/* "TCP"; the number of one without a name. */
void write_protocol(struct json *json, const char *key, uint8_t number);
