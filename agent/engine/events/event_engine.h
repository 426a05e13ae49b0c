/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events engine: plans which Events are reported on the owners of Services. It writes nothing
 * to the kernel; its plan is on the board (service_events), and agentd writes it to the API.
 */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops event_engine_ops;

enum { SERVICE_EVENTS_MAX = 512 }; /* planned at a time; further ones are left out */
