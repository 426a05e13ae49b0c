/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events engine: which Events the owners of Services are to get. It writes nothing to the
 * kernel; what it plans is on the board (service_events), and agentd writes it to the API.
 */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops event_engine_ops;

enum { SERVICE_EVENTS_MAX = 512 }; /* that are planned at once; more are left out */
