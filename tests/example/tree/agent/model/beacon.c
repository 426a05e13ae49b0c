// SPDX-License-Identifier: Apache-2.0
/* Beacons: from a document, compared, and written back. */
#include "model/beacon.h"

#include "model/fields/encode_member.h"
#include "model/kind.h"

static void decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct beacon *beacon = (struct beacon *)object;
    const struct doc *spec = decode_map(decoder, decode_need(decoder, root, "spec"));
    if (!spec)
        return;
    (void)decode_prefix(decoder, decode_need(decoder, spec, "prefix"), IP_NONE, &beacon->prefix);
}

static bool equal(const struct object *a, const struct object *b)
{
    return prefix_cmp(&to_beacon(a)->prefix, &to_beacon(b)->prefix) == 0;
}

static void encode_rest(const struct object *object, struct json *json)
{
    json_begin_object(json, "spec");
    encode_prefix(json, "prefix", &to_beacon(object)->prefix);
    json_end_object(json);
}

const struct kind_row beacon_kind = {
    .api_version = "example.fingerpost.io/v1",
    .name = "Beacon",
    .size = sizeof(struct beacon),
    .decode = decode,
    .equal = equal,
    .encode_rest = encode_rest,
};
