/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the programs are attached: TCX links where the kernel has them (6.6), clsact filters
 * elsewhere. Links are pinned, filters stay by themselves: both outlive the agent, and an upgrade
 * swaps the program in place.
 *
 * Ours are the pinned links, and filters of our priority and handle; all else on an interface is
 * foreign and stays.
 */
#pragma once

#include "apply/nat/plane.h"

struct nat_hooks;

/* `pins` as in nat_plane_options. Finds what is attached already. Returns 0 or -errno. */
int nat_hooks_open(struct nat_plane *plane, const char *pins, struct nat_hooks **ret_hooks);
/* The same with the method chosen by the caller: TCX or clsact. */
int nat_hooks_open_by(bool tcx, struct nat_plane *plane, const char *pins,
                      struct nat_hooks **ret_hooks);
void nat_hooks_close(struct nat_hooks *hooks);
DEFINE_CLEANUP(struct nat_hooks *, nat_hooks_close);

/*
 * Makes exactly the wanted ones stand (sorted): attaches, swaps, repairs what was removed, detaches
 * ours that are not wanted. What an interface refuses is a fault by its name, and is tried again by
 * the next call: the caller sees to it that there is one. Returns the number of changes, or -errno.
 * `ret_repairs` counts what had stood and was gone.
 */
int nat_hooks_sync(struct nat_hooks *hooks, const struct nat_attachment *wanted, size_t count,
                   uint32_t *ret_repairs, struct faults *faults);

/* True if each of the wanted ones holds our program now: asked of the kernel. */
bool nat_hooks_attached(struct nat_hooks *hooks, const struct nat_attachment *wanted, size_t count);

/* "tcx" or "clsact", of what is in use; for status. */
const char *nat_hooks_method(const struct nat_hooks *hooks);

/*
 * Detaches all of ours, on every interface; without a plane, after a crash. Returns the number of
 * programs that were taken away, or -errno.
 */
int nat_hooks_remove_all(const char *pins);
