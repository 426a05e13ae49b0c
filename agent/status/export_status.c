// SPDX-License-Identifier: Apache-2.0
/* Words of kube-service-exporter's metrics; see export_status.h. */
#include "status/export_status.h"

const char *const handled_names[HANDLED_KINDS] = { "add", "update", "delete" };
