/* SPDX-License-Identifier: Apache-2.0 */
/* What EndpointSlices and Endpoints have in common. Private to model/. */
#pragma once

#include "model/fields/decode.h"
#include "model/services/endpoint_slice.h"

/* The ports of a list, which may be NULL. */
void slice_decode_ports(struct decoder *decoder, const struct doc *list,
                        struct endpoint_slice *slice);
