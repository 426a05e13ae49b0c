/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health ports of Services (spec.healthCheckNodePort), for external load balancers: the wanted
 * ports as plain values. nat.h has the addresses on which they are served.
 *
 * As with kube-proxy the families are independent: a request by IPv6 returns the number of IPv6
 * endpoints. By a family that the Service does not have, it returns the number of the other family.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "plan/nat/nat_table.h"

enum { NAT_HEALTH_ABSENT = -1 }; /* the Service does not have that family */

struct nat_health_port {
    const char *namespace, *name;
    uint16_t port;
    int64_t ready_v4, ready_v6; /* endpoints on this node that are ready, or NAT_HEALTH_ABSENT */
};

typedef VEC(struct nat_health_port) nat_health_list;

/* Order by namespace and name. */
int nat_health_cmp(const void *a, const void *b);

/* True if the row has a health port. The names are borrowed from it. */
bool nat_health_of_row(const struct nat_row *row, struct nat_health_port *ret_port);

/* Those of all rows (struct nat_row *, sorted), in order. Returns 0 or -ENOMEM. */
int nat_health_of_rows(const struct sorted *rows, nat_health_list *ret_list);

/* The number that a client of a family (enum ip_family) gets. */
uint32_t nat_health_count(const struct nat_health_port *port, uint8_t family);
