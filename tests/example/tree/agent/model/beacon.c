// SPDX-License-Identifier: Apache-2.0
/* Beacons: from a document, compared, and written back. */
#include "model/beacon.h"

#include "model/kind.h"

static const struct field spec[] = {
    { "prefix", &field_prefix, MEMBER(struct beacon, prefix), .required = true },
    END(""),
};

static const struct field fields[] = {
    { "spec", &field_map, .fields = spec, .required = true },
    END("apiVersion kind metadata"),
};

const struct kind_row beacon_kind = {
    .api_version = "example.fingerpost.io/v1",
    .name = "Beacon",
    .size = sizeof(struct beacon),
    .fields = fields,
};
