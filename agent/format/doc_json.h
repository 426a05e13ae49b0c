/* SPDX-License-Identifier: Apache-2.0 */
/* A document value, or a part of one, as JSON: for what is passed on as it came. */
#pragma once

#include "format/doc.h"
#include "format/json.h"

/* Writes the node and all below it; NULL gives null. The same node always gives the same text. */
void json_doc(struct json *json, const char *key, const struct doc *node);
