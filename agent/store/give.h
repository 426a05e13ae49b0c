/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects with addresses that this agent has assigned, and that are not in their status in an API.
 */
#pragma once

#include "base/net/ip.h"
#include "model/pod.h"
#include "store/store.h"

/*
 * Replaces an effective Service by a copy with these addresses in its status; addresses of ipMode
 * Proxy stay. `assigned`: all of them were allocated from pools (model/services/service.h).
 * `unheeded`: what its status had instead, and why that was not assigned (likewise); NULL:
 * unchanged. Planners treat the addresses as if they came from the source. Returns as store_put().
 */
int store_give(struct store *store, const struct service *service, const struct ip *ips,
               size_t count, bool assigned, const char *unheeded);

/* Replaces a Service by a copy with these of its addresses marked as kept; likewise. */
int store_keep(struct store *store, const struct service *service, const struct ip *kept,
               size_t count);

/* Replaces an effective Pod by a copy with these addresses; likewise. */
int store_give_pod(struct store *store, const struct pod *pod, const ip_list *ips);
