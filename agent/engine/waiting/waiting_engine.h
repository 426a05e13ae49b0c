/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waiting engine: Services of type LoadBalancer that nobody has given an address. It writes
 * nothing; each of them is a fault once it has waited for longer than an assigner takes.
 */
#pragma once

#include "base/clock.h"
#include "engine/engine.h"

extern const struct engine_ops waiting_engine_ops;

/* Until a Service that waits is a fault: who gives addresses needs a moment. */
enum { WAITING_GRACE_MS = 5 * SECOND_MS };

enum { WAITING_TOLD_MAX = 32 }; /* that are told by name; of the others the number is */
