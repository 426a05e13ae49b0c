/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON value as a document: the only user of json-c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "format/doc.h"
#include "format/place.h"

/* Where a text stands in its file. What was cut out of it moves all that follows. */
struct json_origin {
    const char *file;
    struct place start;
    size_t cut; /* offset of the first byte behind the cut; 0: nothing was cut out */
    struct place cut_place;
};

/*
 * Parses `length` bytes of valid UTF-8, which a NUL follows. Without `ret_document` the text is
 * only checked. Returns 0, -EBADMSG after adding a fault, or -ENOMEM.
 */
int json_value_parse(const char *text, size_t length, const struct json_origin *origin,
                     uint32_t depth, struct document **ret_document, struct faults *faults);
