/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the values of a kubeconfig. Internal to client/. */
#pragma once

#include <stdbool.h>

#include "client/kube/kubeconfig.h"

/*
 * Checks the values read from a kubeconfig, and removes slashes from the end of the server's URL.
 * False: it can't be used, and the reasons were added to `errors`, with this place.
 */
bool kube_config_check(struct kube_config *config, const char *place, struct faults *errors);
