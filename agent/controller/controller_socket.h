/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's API sockets: a unix socket in paths.run, and TCP. */
#pragma once

#include <systemd/sd-event.h>

#include "api/view_controller.h"
#include "base/cleanup.h"
#include "config/controller_config.h"

struct controller_socket;

struct controller_socket_options {
    sd_event *event;
    const struct controller_config *config;
    const struct controller_state *state; /* must outlive the sockets */
    /* Called before each answer: updates state whose computation needs a walk. */
    void (*refresh)(void *context);
    void *context;
};

/* Returns 0, or -errno after logging the reason. */
int controller_socket_new(const struct controller_socket_options *options,
                          struct controller_socket **ret_socket);
void controller_socket_free(struct controller_socket *socket);
DEFINE_CLEANUP(struct controller_socket *, controller_socket_free);
