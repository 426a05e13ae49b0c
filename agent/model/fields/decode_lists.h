/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of selectors and of names, as MetalLB's kinds have them. Private to model/. */
#pragma once

#include "format/json.h"
#include "model/fields/decode.h"
#include "model/fields/name_list.h"
#include "model/object_selector.h"

/* Empty where the list is absent, empty or wrong. */
struct object_selectors decode_selectors(struct decoder *decoder, const struct doc *node);
bool selectors_equal(const struct object_selectors *a, const struct object_selectors *b);
void encode_selectors(struct json *json, const char *key, const struct object_selectors *selectors);

struct name_list decode_names(struct decoder *decoder, const struct doc *node);
bool names_equal(const struct name_list *a, const struct name_list *b);
void encode_names(struct json *json, const char *key, const struct name_list *names);
