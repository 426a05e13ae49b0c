/* SPDX-License-Identifier: Apache-2.0 */
/* The controller as a whole: what it creates, in which order, and how it exits. */
#pragma once

#include "base/cleanup.h"
#include "config/controller_config.h"

struct controller;

/*
 * Begins to read the API and to take part in the election. Takes ownership of `config`. On failure
 * logs the reason. Returns 0 or -errno.
 */
int controller_new(const char *config_path, struct controller_config *config,
                   struct controller **ret_controller);

/*
 * Runs until SIGTERM or SIGINT, or until SIGHUP finds a valid configuration; then releases the
 * Lease. Returns 1 if the program is to restart, 0, or -errno.
 */
int controller_run(struct controller *controller);

void controller_free(struct controller *controller);
DEFINE_CLEANUP(struct controller *, controller_free);

/*
 * Loads controller.yaml, and checks everything that can be checked without the API. Returns as
 * controller_config_load().
 */
int controller_load(const char *path, struct controller_config **ret_config, struct faults *faults);
