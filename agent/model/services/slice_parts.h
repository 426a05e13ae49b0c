/* SPDX-License-Identifier: Apache-2.0 */
/* What EndpointSlices and Endpoints have in common. Private to model/. */
#pragma once

#include "model/fields/field.h"
#include "model/services/endpoint_slice.h"

/* The fields of a slice's ports. */
extern const struct field slice_port_fields[];
