/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waiting engine: Services of type LoadBalancer that nobody has given an address, and Services
 * that lack what they need to be served (plan/nat/service_lacks.h). It writes nothing; each of them
 * is a fault once it has waited for longer than an assigner takes, or than objects that go together
 * take to be there.
 */
#pragma once

#include "base/clock.h"
#include "engine/engine.h"

extern const struct engine_ops waiting_engine_ops;

/* Until a Service that waits is a fault: who gives addresses needs a moment. */
enum { WAITING_GRACE_MS = 5 * SECOND_MS };

/*
 * Until what a Service lacks is one: files that go together are written one after the other. In a
 * cluster pods are replaced meanwhile, of which the first may name its ports otherwise, and those
 * of a Node that was deleted are deleted a while later.
 */
enum { LACKING_FILE_GRACE_MS = 500, LACKING_GRACE_MS = 120 * SECOND_MS };

enum { WAITING_TOLD_MAX = 32 }; /* that are told by name; of the others the number is */
