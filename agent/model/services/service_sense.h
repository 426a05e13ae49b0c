/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a Service that contradict each other. Private to model/. */
#pragma once

#include "model/fields/decode.h"
#include "model/services/service.h"

/* Warns of each, in a manifest; the Service has been decoded, but for its request. */
void service_sense_check(struct decoder *decoder, const struct doc *spec,
                         const struct service *service);
