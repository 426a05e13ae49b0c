/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the metrics that have a file of their own; view_metrics() puts them in order. */
#pragma once

#include "api/view.h"

/* The metrics of the Kubernetes source; none of another source. */
void write_kube_metrics(const struct api_state *state, struct text *out);
/* The metrics of NAT; none where it is off. */
void write_nat_metrics(const struct api_state *state, struct text *out);
/* The metrics of egress; none where it is off. */
void write_egress_metrics(const struct api_state *state, struct text *out);
