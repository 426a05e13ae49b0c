/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies that address_job.c writes: status of Services and pools, Events. Pure. */
#pragma once

#include "base/text.h"
#include "client/kube/kube_event.h"
#include "pools/allocator.h"

/* The fields of a status that are ours are of this manager: of Services by update, of pools by
 * apply. */
#define ADDRESS_MANAGER SERVICE_MANAGER

/* Whether the Service's status says what the row and its condition say. */
bool address_status_is(const struct service *service, const struct assignment *row);

/*
 * The status of a Service, as a strategic merge patch: of the row, or without our condition (NULL)
 * and, with `addresses`, without any address. It is refused if the Service is another than this
 * one, by its resourceVersion.
 */
void address_status_write(const struct service *service, const struct assignment *row,
                          bool addresses, int64_t now_wall_ms, struct text *out);

/* MetalLB's counts of a pool; the same, to be applied to its status. */
struct ip_pool_counts address_pool_counts(const struct pool_use *use);
void address_pool_status_write(const struct object *pool, const struct ip_pool_counts *counts,
                               struct text *out);

/* The Events that say why a Service has not all of its addresses, and why it does not keep what its
 * status names; each is named after what it says. */
void address_event_write(const struct service *service, const struct assignment *row,
                         const char *identity, int64_t now_wall_ms,
                         char ret_name[static KUBE_EVENT_NAME_MAX + 1], struct text *out);
void address_loss_event_write(const struct service *service, const char *loss, const char *identity,
                              int64_t now_wall_ms, char ret_name[static KUBE_EVENT_NAME_MAX + 1],
                              struct text *out);
