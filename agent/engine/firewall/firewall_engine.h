/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firewall engine: maintains our nftables table of the ports that Services have opened
 * (services.firewall).
 */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops firewall_engine_ops;
