/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coil's AddressPools, AddressBlocks and Egresses as JSON: what is in `metadata` of each kind, and
 * what stands beside it. Listed in the table of encode.c. Private to model/.
 */
#pragma once

#include "format/json.h"
#include "model/object.h"

void encode_pool_rest(const struct object *object, struct json *json);
void encode_block_metadata(const struct object *object, struct json *json);
void encode_block_rest(const struct object *object, struct json *json);
void encode_egress_rest(const struct object *object, struct json *json);
