/* SPDX-License-Identifier: Apache-2.0 */
/* Reload of the configuration: a good file replaces the old one whole, a bad one changes nothing.
 */
#pragma once

#include "config/config.h"
#include "status/status.h"

/*
 * Loads the file again. Returns the new configuration, owned by the caller, or NULL if it is
 * refused: it is broken, or changes what only a restart can change. The reasons become faults of
 * subsystem "config"; success clears them.
 */
struct config *reload_config(const char *path, const struct config *current, struct status *status);
