/* SPDX-License-Identifier: Apache-2.0 */
/* The condition SERVICE_ASSIGNED of a Service. A part of service.c's work. Private to model/. */
#pragma once

#include "format/json.h"
#include "model/decode.h"
#include "model/service.h"

void service_assigned_decode(struct decoder *decoder, const struct doc *status,
                             struct service *service);
bool service_assigned_equal(const struct service *a, const struct service *b);
/* A member of `status`, which is open. */
void service_assigned_encode(const struct service *service, struct json *json);
