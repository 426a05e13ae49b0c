/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The egress engine: keeps the maps and programs that send pods' packets to gateways, and those of
 * a gateway, as the objects ask for it. It is a row of the table of engines.
 */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops egress_engine_ops;
