/* SPDX-License-Identifier: Apache-2.0 */
/* What the kinds' encoders share. Private to model/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "format/json.h"
#include "model/object.h"

/* Members that are left out where they are empty, 0, false; a prefix where it has no family. */
void encode_text(struct json *json, const char *key, const char *value);
void encode_number(struct json *json, const char *key, int64_t value);
void encode_flag(struct json *json, const char *key, bool value);
void encode_prefix(struct json *json, const char *key, const struct prefix *prefix);

void encode_ip(struct json *json, const char *key, const struct ip *ip);
void encode_prefixes(struct json *json, const char *key, const struct prefix *prefixes,
                     uint32_t count);

/* The kinds' own parts, listed in the table of encode.c: what is in `metadata`, what stands beside
 * it. */
void encode_service_metadata(const struct object *object, struct json *json);
void encode_service_rest(const struct object *object, struct json *json);
void encode_slice_metadata(const struct object *object, struct json *json);
void encode_slice_rest(const struct object *object, struct json *json);
void encode_node_metadata(const struct object *object, struct json *json);
void encode_node_rest(const struct object *object, struct json *json);
void encode_namespace_metadata(const struct object *object, struct json *json);
void encode_pod_rest(const struct object *object, struct json *json);
void encode_pool_rest(const struct object *object, struct json *json);
void encode_block_metadata(const struct object *object, struct json *json);
void encode_block_rest(const struct object *object, struct json *json);
void encode_egress_rest(const struct object *object, struct json *json);
