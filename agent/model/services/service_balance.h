/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Service says of how its traffic is balanced: source ranges, affinity, the health port. A
 * part of service.c's work. Private to model/.
 */
#pragma once

#include "format/json.h"
#include "model/fields/decode.h"
#include "model/services/service.h"

void service_balance_decode(struct decoder *decoder, const struct doc *spec,
                            struct service *service);
bool service_balance_equal(const struct service *a, const struct service *b);
/* The members of `spec`, which is open. */
void service_balance_encode(const struct service *service, struct json *json);
