/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probing of the gateways that pods of this node use: a question over UDP to each, each
 * egress.probeInterval, that the gateway's program answers (bpf/egress/egress_probe.h). What
 * follows from the answers is egress_probes.h's to say.
 *
 * At the most PROBES_A_SECOND are sent: with more gateways each is asked less often. Internal to
 * engine/egress/.
 */
#pragma once

#include <systemd/sd-event.h>

#include "apply/egress/datapath.h"
#include "base/fault.h"
#include "config/config.h"
#include "engine/engine.h"
#include "plan/egress/egress.h"

enum { PROBES_A_SECOND = 500 };

struct egress_prober;

/* Wakes the schedule when a verdict is another one. Returns 0 or -errno. */
int egress_prober_new(const struct engine_setup *setup, struct egress_prober **ret_prober);
void egress_prober_free(struct egress_prober *prober);
DEFINE_CLEANUP(struct egress_prober *, egress_prober_free);

/* Another configuration: its port and interval. */
void egress_prober_configure(struct egress_prober *prober, const struct config *config);

/* Whether a verdict is another one since egress_prober_mark(). */
bool egress_prober_moved(const struct egress_prober *prober);

/*
 * Takes over the gateways of a new plan, and marks those that are silent or say that they leave, in
 * the plan. Where no gateway of a set answers, nobody knows whether they all are gone or the way to
 * them is: then they are used as they are. A fault for each that is silent. What the datapath says
 * of a gateway that is not known yet is from an earlier agent. Returns 0 or -errno.
 */
int egress_prober_mark(struct egress_prober *prober, const struct egress_datapath *datapath,
                       const struct egress_plan *plan, struct faults *faults);

/* Up to when all gateways have learned of new clients, monotonic; INT64_MAX: all do. */
int64_t egress_prober_known_ms(const struct egress_prober *prober);
