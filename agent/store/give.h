/* SPDX-License-Identifier: Apache-2.0 */
/* Objects with addresses that this agent has given, and no API has written into their status. */
#pragma once

#include "base/net/ip.h"
#include "model/pod.h"
#include "store/store.h"

/*
 * Puts a copy of a Service that counts in its place, with these addresses as those of its status;
 * what is of ipMode Proxy stays. `assigned`: all of them were given out of pools
 * (model/services/service.h). `unheeded`: what its status had instead, and why it was not given
 * (likewise); NULL: as it was. From there on they are planned with as if the source had said them.
 * Returns as store_put().
 */
int store_give(struct store *store, const struct service *service, const struct ip *ips,
               size_t count, bool assigned, const char *unheeded);

/* Puts a copy of it in its place with these of its addresses marked as kept; likewise. */
int store_keep(struct store *store, const struct service *service, const struct ip *kept,
               size_t count);

/* Puts a copy of a Pod that counts in its place, with these as its addresses; likewise. */
int store_give_pod(struct store *store, const struct pod *pod, const ip_list *ips);
