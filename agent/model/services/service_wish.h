/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Service asks of whoever gives addresses out of pools. A part of service.c's work. Private
 * to model/.
 */
#pragma once

#include "format/json.h"
#include "model/fields/decode.h"
#include "model/services/service.h"

void service_wish_decode(struct decoder *decoder, const struct doc *spec,
                         struct address_wish *wish);
bool service_wish_equal(const struct address_wish *a, const struct address_wish *b);
/* Members of `annotations`, and of `spec`; each is open. */
void service_wish_encode_annotations(const struct address_wish *wish, struct json *json);
void service_wish_encode(const struct address_wish *wish, struct json *json);
