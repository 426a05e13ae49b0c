/* SPDX-License-Identifier: Apache-2.0 */
/* The packet sockets on the interfaces of claimed addresses. Internal to segment/. */
#pragma once

#include <systemd/sd-event.h>

#include "apply/segment/segment_socket.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "plan/claims/telling.h"

struct wires;

typedef void (*wires_heard)(void *context, uint32_t ifindex, const struct segment_claim *claim);

/* Returns 0 or -ENOMEM. */
int wires_new(sd_event *event, wires_heard heard, void *context, struct wires **ret_wires);

typedef VEC(uint32_t) wire_list;

/*
 * Opens sockets on these interfaces, and closes all others. A socket that can't be opened is tried
 * again at the next call.
 */
void wires_set(struct wires *wires, const wire_list *ifindexes);

/* 0: there is a socket; or -errno: why there is none. */
int wires_error(const struct wires *wires, uint32_t ifindex);

/* Returns 0 or -errno. */
int wires_send(struct wires *wires, uint32_t ifindex, enum segment_word word, const struct ip *ip,
               const uint8_t mac[static 6]);

/* Sends to one host only. Returns likewise. */
int wires_tell(struct wires *wires, const struct telling_word *word);

void wires_free(struct wires *wires);
DEFINE_CLEANUP(struct wires *, wires_free);
