/* SPDX-License-Identifier: Apache-2.0 */
/* What a kubeconfig may say. Internal to client/. */
#pragma once

#include <stdbool.h>

#include "client/kube/kubeconfig.h"

/*
 * Checks what was read from a kubeconfig, and takes slashes off the end of the server. False: it
 * can't be used, and why was added to `errors`, with this place.
 */
bool kube_config_check(struct kube_config *config, const char *place, struct faults *errors);
