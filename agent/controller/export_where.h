/* SPDX-License-Identifier: Apache-2.0 */
/* Where Consul is and as whom it is asked, out of the configuration. */
#pragma once

#include "client/consul.h"
#include "config/export_config.h"

/* Everything in it is the configuration's own. */
struct consul_config export_where(const struct export_config *config);
