/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes the gateways that pods of this node use: one UDP request to each per egress.probeInterval,
 * which the gateway's program answers (bpf/egress/egress_probe.h). egress_probes.h draws the
 * conclusions. At most PROBES_A_SECOND are sent; with more gateways, each is probed less often.
 * Internal to engine/egress/.
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

/* Wakes the schedule when a verdict changes. Returns 0 or -errno. */
int egress_prober_new(const struct engine_setup *setup, struct egress_prober **ret_prober);
void egress_prober_free(struct egress_prober *prober);
DEFINE_CLEANUP(struct egress_prober *, egress_prober_free);

/* Sets another configuration: port and interval. */
void egress_prober_configure(struct egress_prober *prober, const struct config *config);

/* Whether a verdict changed since egress_prober_mark(). */
bool egress_prober_moved(const struct egress_prober *prober);

/*
 * Adopts the gateways of a new plan, and marks in the plan those that are silent or announce that
 * they leave. Where no gateway of a set answers, the fault may be in the path to them, so they stay
 * in use. A fault is raised for each silent gateway. For a gateway that is new to the prober, the
 * state in the datapath is that of an earlier agent. Returns 0 or -errno.
 */
int egress_prober_mark(struct egress_prober *prober, const struct egress_datapath *datapath,
                       const struct egress_plan *plan, struct faults *faults);

/* Until when all gateways have learned of new clients, monotonic; INT64_MAX: all still do. */
int64_t egress_prober_known_ms(const struct egress_prober *prober);
