/* SPDX-License-Identifier: Apache-2.0 */
/* Members of objects as JSON, beside those of tables (field.h). Private to model/. */
#pragma once

#include "base/net/ip.h"
#include "format/json.h"

void encode_text(struct json *json, const char *key, const char *value); /* left out where empty */
void encode_ip(struct json *json, const char *key, const struct ip *ip);
