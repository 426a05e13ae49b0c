/* SPDX-License-Identifier: Apache-2.0 */
/* The lock by which only one agent runs on a state folder. */
#pragma once

#include <sys/types.h>

/*
 * Makes the folder if need be and locks the file `lock` in it (flock: freed by the kernel however
 * the process ends). Returns a descriptor to keep open, -EBUSY with the holder's process id in
 * `*ret_holder` (0: unknown), or -errno.
 */
int lock_take(const char *state_directory, pid_t *ret_holder);
