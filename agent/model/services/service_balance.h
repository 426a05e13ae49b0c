/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Service says of how its traffic is balanced: source ranges and affinity. A part of
 * service.c's work. Private to model/.
 */
#pragma once

#include "model/fields/field.h"
#include "model/services/service.h"

/* The items of a list of CIDRs, and a warning where none of them can be used. */
bool service_decode_ranges(struct decoder *decoder, const struct doc *list,
                           const struct field *field, void *base);

/* sessionAffinity, with sessionAffinityConfig. */
extern const struct field_type service_affinity_type;
