/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health ports of Services (spec.healthCheckNodePort), for the load balancer in front: what is
 * wanted, as plain values. On which addresses they are served is nat.h's to say.
 *
 * As with kube-proxy the families know nothing of each other: who asks by IPv6 is told the count of
 * IPv6 endpoints. By a family that the Service does not have, it is told that of the other.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "plan/nat/nat_table.h"

enum { NAT_HEALTH_ABSENT = -1 }; /* the Service has not that family */

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

/* What a client of a family (enum ip_family) is told. */
uint32_t nat_health_count(const struct nat_health_port *port, uint8_t family);
