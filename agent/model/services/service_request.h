/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Service asks of whoever gives addresses out of pools. A part of service.c's work. Private
 * to model/.
 */
#pragma once

#include "format/json.h"
#include "model/fields/decode.h"
#include "model/services/service.h"

void service_request_decode(struct decoder *decoder, const struct doc *spec,
                            struct address_request *request);
bool service_request_equal(const struct address_request *a, const struct address_request *b);
/* Members of `annotations`, and of `spec`; each is open. */
void service_request_encode_annotations(const struct address_request *request, struct json *json);
void service_request_encode(const struct address_request *request, struct json *json);
