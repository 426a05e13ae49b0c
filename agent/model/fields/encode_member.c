// SPDX-License-Identifier: Apache-2.0
/* Members of objects as JSON; see encode_member.h. The encoders of all kinds write with them. */
#include "model/fields/encode_member.h"

void encode_text(struct json *json, const char *key, const char *value)
{
    if (*value)
        json_string(json, key, value);
}

void encode_number(struct json *json, const char *key, int64_t value)
{
    if (value)
        json_int(json, key, value);
}

void encode_flag(struct json *json, const char *key, bool value)
{
    if (value)
        json_bool(json, key, true);
}

void encode_ip(struct json *json, const char *key, const struct ip *ip)
{
    char buffer[IP_STRLEN];
    json_string(json, key, ip_str(ip, buffer));
}

void encode_prefix(struct json *json, const char *key, const struct prefix *prefix)
{
    char buffer[PREFIX_STRLEN];
    if (prefix->ip.family != IP_NONE)
        json_string(json, key, prefix_str(prefix, buffer));
}
