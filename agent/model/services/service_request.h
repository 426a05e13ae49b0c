/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Service asks of whoever gives addresses out of pools. A part of service.c's work. Private
 * to model/.
 */
#pragma once

#include "model/fields/field.h"
#include "model/services/service.h"

/* Of the map of annotations, with spec.loadBalancerIP. */
extern const struct field_type service_request_type;
/* `selector` of who has a sharing key; `ipFamilies`. */
extern const struct field_type service_selector_type, service_families_type;
