/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the verbs that print tables; each array stands beside the rows it is for. */
#pragma once

#include "agentctl/output.h"

extern const struct column diff_columns[];
extern const struct column route_columns[];
extern const struct column service_columns[];
extern const struct column peer_columns[];
extern const struct column block_columns[];
extern const struct column address_columns[];
extern const struct column pod_columns[];
extern const struct column pool_columns[];
extern const struct column cluster_block_columns[];
extern const struct column request_columns[];
extern const struct column workload_columns[];
extern const struct column export_columns[];
extern const struct column setting_columns[];
extern const struct column backend_columns[];
extern const struct column flow_columns[];
extern const struct column egress_columns[];
extern const struct column port_columns[];
extern const struct column map_columns[];
extern const struct column difference_columns[];
