/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services and EndpointSlices as JSON: what is in `metadata` of each kind, and what stands beside
 * it. Listed in the table of encode.c. Private to model/.
 */
#pragma once

#include "format/json.h"
#include "model/object.h"

void encode_service_metadata(const struct object *object, struct json *json);
void encode_service_rest(const struct object *object, struct json *json);
void encode_slice_metadata(const struct object *object, struct json *json);
void encode_slice_rest(const struct object *object, struct json *json);
