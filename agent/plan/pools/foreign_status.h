/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the status of a Service of our class was written by another allocator: a cloud
 * controller, another load balancer, an operator. Such a status is neither adopted nor cleared.
 *
 * Foreign is an entry with fields that this program never writes (a hostname, ports, ipMode Proxy);
 * and, without the allocator's condition (service.assigned), an address of no pool. An address of a
 * pool without the condition is adopted, as for Services of MetalLB.
 */
#pragma once

#include "model/services/service.h"
#include "plan/pools/pool_table.h"

bool status_is_foreign(const struct pool_table *pools, const struct service *service);

/* The entry that shows this, of a foreign status: "hostname lb.example.com". NULL: no memory. */
char *status_foreign_text(const struct pool_table *pools, const struct service *service);
