/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a Service that do nothing beside its others. Private to model/. */
#pragma once

#include "model/fields/decode.h"
#include "model/services/service.h"

/* Warns of each; the Service has been decoded. */
void service_idle_check(struct decoder *decoder, const struct doc *spec,
                        const struct service *service);
