/* SPDX-License-Identifier: Apache-2.0 */
/* Socket activation: the API's socket from the service manager. */
#pragma once

/*
 * Takes what the manager passed. Returns a descriptor that is the caller's, -ENOENT if nothing was
 * passed, or -EINVAL if that is not one listening unix stream socket.
 */
int activation_take_socket(void);
