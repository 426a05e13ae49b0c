/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of an object, as selectors ask for them. Private to model/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format/json.h"
#include "model/fields/field.h"
#include "model/fields/label_selector.h"

/* A map of labels, sorted by name, LABELS_MAX at most (else a warning); NULL: none. */
const struct label *decode_label_map(struct decoder *decoder, const struct doc *list,
                                     uint32_t *ret_count);

bool labels_equal(const struct label *a, uint32_t a_count, const struct label *b, uint32_t b_count);

/* Of a kind's table of labels: its value, kept; "" or NULL where it is absent. Whether it is there.
 */
extern const struct field_type field_label, field_label_or_null, field_label_flag;
/* ITEMS() of the map itself: all of them, sorted by name. */
extern const struct field_type field_labels;

/* Members of `labels`, which is open. */
void encode_labels(struct json *json, const struct label *labels, uint32_t count);
