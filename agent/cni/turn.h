/* SPDX-License-Identifier: Apache-2.0 */
/* One plugin at a time for one interface of a pod. */
#pragma once

#include "cni/error.h"
#include "cni/request.h"

/*
 * Waits until no other process is at work on this interface, a minute at the most. The turn ends
 * with the process, however that ends. *ret_fd is kept open meanwhile.
 */
int turn_take(const struct cni_request *request, int *ret_fd, struct cni_error *error);
