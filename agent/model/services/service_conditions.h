/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of a Service that are ours. A part of service.c's work. Private to model/. */
#pragma once

#include "format/json.h"
#include "model/fields/decode.h"
#include "model/services/service.h"

void service_conditions_decode(struct decoder *decoder, const struct doc *status,
                               struct service *service);
/* Who has written to the status last, beside us (SERVICE_MANAGER); "": nobody. */
const char *service_status_writer(struct decoder *decoder, const struct doc *metadata);
bool service_conditions_equal(const struct service *a, const struct service *b);
/* A member of `status`, which is open. */
void service_conditions_encode(const struct service *service, struct json *json);
