/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the events of libyaml into documents; see reader.h for what comes out. */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "format/input.h"
#include "format/reader.h"

struct yaml_reader;

/* `input` is borrowed. `whole`: a list of items is left in its document. NULL: no memory. */
struct yaml_reader *yaml_reader_new(struct input *input, const struct reader_limits *limits,
                                    bool whole);
/* As reader_next(). */
int yaml_reader_next(struct yaml_reader *reader, struct document **ret_document,
                     struct faults *faults);
void yaml_reader_free(struct yaml_reader *reader);
