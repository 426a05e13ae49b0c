/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the status of a Service of our class is another assigner's: a cloud's controller, another
 * balancer, a person. Such a status is neither taken over nor erased.
 *
 * Another's is an entry with what is never written here (a hostname, ports, ipMode Proxy), whoever
 * else has written to the Service; and, where the condition of whoever gives addresses is not there
 * (service.assigned), an address of no pool. An address of a pool without the condition is taken
 * over: so the Services of MetalLB come over.
 */
#pragma once

#include "model/services/service.h"
#include "plan/pools/pool_table.h"

bool status_is_foreign(const struct pool_table *pools, const struct service *service);

/* What shows it, of a status that is: "hostname lb.example.com". NULL: no memory. */
char *status_foreign_text(const struct pool_table *pools, const struct service *service);
