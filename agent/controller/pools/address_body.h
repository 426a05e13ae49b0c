/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of the writes of address_job.c: status of Services and pools, Events. Pure. */
#pragma once

#include "base/text.h"
#include "client/kube/kube_event.h"
#include "pools/allocator.h"

/* The field manager of our fields of a status: of Services by update, of pools by apply. */
#define ADDRESS_MANAGER SERVICE_MANAGER

/* Whether the Service's status matches the row and its condition. */
bool address_status_is(const struct service *service, const struct assignment *row);

/*
 * The status of a Service, as a strategic merge patch: of the row, or (NULL) without our condition
 * and, with `addresses`, without any address. The API refuses it if the Service has changed, by its
 * resourceVersion.
 */
void address_status_write(const struct service *service, const struct assignment *row,
                          bool addresses, int64_t now_wall_ms, struct text *out);

/* MetalLB's counts of a pool; and the body that applies them to the pool's status. */
struct ip_pool_counts address_pool_counts(const struct pool_use *use);
void address_pool_status_write(const struct object *pool, const struct ip_pool_counts *counts,
                               struct text *out);

/* The Events that say why a Service lacks addresses, and why it does not keep those in its status;
 * each is named after its cause. */
void address_event_write(const struct service *service, const struct assignment *row,
                         const char *identity, int64_t now_wall_ms,
                         char ret_name[static KUBE_EVENT_NAME_MAX + 1], struct text *out);
void address_loss_event_write(const struct service *service, const char *loss, const char *identity,
                              int64_t now_wall_ms, char ret_name[static KUBE_EVENT_NAME_MAX + 1],
                              struct text *out);
