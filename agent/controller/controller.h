/* SPDX-License-Identifier: Apache-2.0 */
/* The controller as a whole: what is made, in which order, and how it ends. */
#pragma once

#include "base/cleanup.h"
#include "config/controller_config.h"

struct controller;

/*
 * Starts to read the API and to take part in the election. `config` is the controller's from now
 * on. On failure says why in the log. Returns 0 or -errno.
 */
int controller_new(const char *config_path, struct controller_config *config,
                   struct controller **ret_controller);

/*
 * Runs until SIGTERM or SIGINT, or until SIGHUP finds a configuration that is good; then gives the
 * lease back. Returns 1 if it is to start anew, 0, or -errno.
 */
int controller_run(struct controller *controller);

void controller_free(struct controller *controller);
DEFINE_CLEANUP(struct controller *, controller_free);

/*
 * Loads controller.yaml, and checks all that can be checked without the API. Returns as
 * controller_config_load().
 */
int controller_load(const char *path, struct controller_config **ret_config, struct faults *faults);
