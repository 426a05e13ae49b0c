/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of a Service that are ours. A part of service.c's work. Private to model/. */
#pragma once

#include "model/fields/field.h"
#include "model/services/service.h"

/* Of `conditions` in `status`. */
extern const struct field_type service_conditions_type;

/* Who has written to the status last, beside us (SERVICE_MANAGER); "": nobody. */
const char *service_status_writer(struct decoder *decoder, const struct doc *metadata);
