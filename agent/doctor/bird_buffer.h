/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the kernel's notifications waits for BIRD. Internal to doctor/. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * The receive buffer, in bytes as BIRD's `netlink rx buffer` counts, of the socket by which a
 * process hears what the kernel's routes do; the largest, if it has several. Returns 0, -ENOENT if
 * it has none in this network namespace, -EACCES if its files may not be seen, or -errno.
 */
int bird_buffer_read(pid_t pid, uint32_t *ret_bytes);
