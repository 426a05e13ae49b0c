/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the values of a JSON file; see reader.h for what comes out. */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "format/input.h"
#include "format/reader.h"

struct json_reader;

/* `input` is borrowed. `whole`: a list of items is left in its document. NULL: no memory. */
struct json_reader *json_reader_new(struct input *input, const struct reader_limits *limits,
                                    bool whole);
/* As reader_next(). */
int json_reader_next(struct json_reader *reader, struct document **ret_document,
                     struct faults *faults);
void json_reader_free(struct json_reader *reader);
