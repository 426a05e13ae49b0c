/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the metrics that have a file of their own; view_metrics() puts them in order. */
#pragma once

#include "api/view.h"

void write_source_metrics(const struct source_status *source, const struct store *store,
                          struct text *out);
/* Of the Kubernetes source kind by kind; nothing of another source. */
void write_kube_metrics(const struct kube_status *kube, struct text *out);
/* Of the copy on disk; nothing if none is kept. */
void write_copy_metrics(const struct copy_status *copy, struct text *out);
/* Of what is written to the API; nothing where nothing may be. */
void write_event_metrics(const struct write_status *writes, struct text *out);
/* Faults by subsystem. The `usual` ones have a series even without a fault, so that a rule can rely
 * on it. */
void write_fault_metrics(const struct fault_book *book, const char *const *usual, size_t count,
                         struct text *out);
/* Of pools of pod addresses; none where no pool is read. */
void write_block_metrics(const struct store *store, struct text *out);
struct export_metrics; /* status/export_status.h */
/* Of exports, by kube-service-exporter's names; none where `exports` is NULL. */
void write_export_metrics(const struct export_metrics *exports, struct text *out);
/* Of pods and their addresses; none where there are none (NULL). */
void write_pod_metrics(const struct pods_live *live, struct text *out);
struct claims_live; /* api/claims/claims_live.h */
/* Of claimed addresses; none where nothing is claimed. */
void write_claim_metrics(const struct claims_live *live, struct text *out);
/* Of our table of nftables; none where services.firewall is off. */
void write_firewall_metrics(const struct firewall_status *firewall, struct text *out);
/* The metrics of NAT; none where it is off. */
void write_nat_metrics(const struct api_state *state, struct text *out);
/* The metrics of egress; none where it is off. */
void write_egress_metrics(const struct api_state *state, struct text *out);
