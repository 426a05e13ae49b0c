/* SPDX-License-Identifier: Apache-2.0 */
/* "firewall" of the document Status. */
#pragma once

#include "format/json.h"
#include "status/firewall_status.h"

void write_firewall(struct json *json, const struct firewall_status *firewall);
