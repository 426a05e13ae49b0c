/* SPDX-License-Identifier: Apache-2.0 */
/* Writes routes and rules: makes requests from operations, and results from the replies. */
#pragma once

#include <stddef.h>

#include "apply/netlink/nl.h"
#include "apply/op_result.h"
#include "plan/routes/route_table.h"

/* See kernel_apply_routes() and kernel_apply_rules(). */
int write_routes(struct nl_socket *socket, const struct route_op *ops, size_t count,
                 struct op_result *results);
int write_rules(struct nl_socket *socket, const struct rule_op *ops, size_t count,
                struct op_result *results);
