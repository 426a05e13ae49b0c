/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do about a refusal of the system, for faults whose message has no more than its word for
 * an errno. Who knows better says so himself: these are the words that are left.
 */
#pragma once

/* About a file or folder, which the fault names. `error`: errno, or -errno. Never NULL. */
const char *remedy_for_file(int error);

/* About what the kernel was asked to make, change or delete: routes, interfaces, programs, maps. */
const char *remedy_for_kernel(int error);
