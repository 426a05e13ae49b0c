/* SPDX-License-Identifier: Apache-2.0 */
/* Members of objects as JSON, as encode.c and the kinds' encoders write them. Private to model/. */
#pragma once

#include <stdint.h>

#include "base/net/ip.h"
#include "format/json.h"

/* Members that are left out where they are empty, 0, false; a prefix where it has no family. */
void encode_text(struct json *json, const char *key, const char *value);
void encode_number(struct json *json, const char *key, int64_t value);
void encode_flag(struct json *json, const char *key, bool value);
void encode_prefix(struct json *json, const char *key, const struct prefix *prefix);

void encode_ip(struct json *json, const char *key, const struct ip *ip);
