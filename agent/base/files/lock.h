/* SPDX-License-Identifier: Apache-2.0 */
/* The locks by which only one agent runs on a state folder, and on a kernel. */
#pragma once

#include <sys/types.h>

/*
 * Makes the folder if need be and locks the file `lock` in it (flock: freed by the kernel however
 * the process ends). Returns a descriptor to keep open, -EBUSY with the holder's process id in
 * `*ret_holder` (0: unknown), or -errno.
 */
int lock_take(const char *state_directory, pid_t *ret_holder);

/*
 * Takes the name of the agent in this network namespace, whatever folders it was given: two would
 * write the same tables, and take each other's programs down. The name is that of an abstract
 * socket (unix(7)), which each network namespace has its own of, and which the kernel frees however
 * the process ends. Since every process may take such a name, only a holder of this user's or of
 * root's counts. Returns a descriptor to keep open, -EBUSY with the holder's process id, or -errno
 * (-EPERM: somebody else has the name).
 */
int lock_take_network(pid_t *ret_holder);
