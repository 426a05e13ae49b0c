// SPDX-License-Identifier: Apache-2.0
/* Members of objects as JSON; see encode_member.h. The encoders of all kinds write with them. */
#include "model/fields/encode_member.h"

void encode_text(struct json *json, const char *key, const char *value)
{
    if (*value)
        json_string(json, key, value);
}

void encode_ip(struct json *json, const char *key, const struct ip *ip)
{
    char buffer[IP_STRLEN];
    json_string(json, key, ip_str(ip, buffer));
}
