/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks: attaches the programs to interfaces, by TCX links where the kernel has them (Linux
 * 6.6), else by clsact filters. Links are pinned and filters are persistent, so both outlive the
 * agent; an upgrade replaces the programs atomically.
 *
 * Pinned links, and filters of our priority, handle and name, are ours. Other programs on an
 * interface are not changed. Our programs are first: a program before ours may change or drop
 * packets, and so break a Service.
 */
#pragma once

#include "apply/nat/datapath.h"
#include "apply/nat/hooks/place.h"

struct nat_hooks;

/* The programs to attach: those of service NAT, or those of egress, which run after them. */
struct hook_programs {
    enum nat_layer layer;
    void *context; /* for the functions */
    /* The descriptor of a hook's program, borrowed, or -errno; `bare`: as nat_datapath_program().
     */
    int (*fd)(void *context, enum nat_hook hook, bool bare);
    uint32_t (*id)(void *context, enum nat_hook hook, bool bare); /* the kernel's; 0: unknown */
    /* Likewise, the program that runs before it in the same place; -1 and 0: none. */
    int (*leader_fd)(void *context, enum nat_hook hook, bool bare);
    uint32_t (*leader_id)(void *context, enum nat_hook hook, bool bare);
};

/* `pins`: as in nat_datapath_options. Finds the attachments of an earlier agent. Returns 0 or
 * -errno. */
int nat_hooks_open(struct nat_datapath *datapath, const char *pins, struct nat_hooks **ret_hooks);
/* The same for other programs. */
int nat_hooks_open_for(const struct hook_programs *programs, const char *pins,
                       struct nat_hooks **ret_hooks);
/* The same with the method chosen by the caller: TCX or clsact. */
int nat_hooks_open_by(bool tcx, struct nat_datapath *datapath, const char *pins,
                      struct nat_hooks **ret_hooks);
void nat_hooks_close(struct nat_hooks *hooks);
DEFINE_CLEANUP(struct nat_hooks *, nat_hooks_close);

/*
 * Makes the wanted attachments (sorted) the only ones of ours: attaches, replaces, restores
 * attachments that another program removed, detaches the rest. Where another program was attached
 * before ours, ours is moved to the front, but only at a limited rate; otherwise a fault names that
 * program. An interface that refuses is a fault with its name; the next call retries, and the
 * caller must make that call. Returns the number of changes, or -errno. `ret_repairs`: the number
 * of attachments that had been removed.
 */
int nat_hooks_sync(struct nat_hooks *hooks, const struct nat_attachment *wanted, size_t count,
                   uint32_t *ret_repairs, struct faults *faults);

/* The state of the current programs in the wanted places; of several places the worst. */
enum nat_rank {
    NAT_RANK_NONE,   /* another program, or none */
    NAT_RANK_BEHIND, /* another program gets the packets first */
    NAT_RANK_FIRST,
};

/* Queries the kernel. Interfaces that are gone do not count. */
enum nat_rank nat_hooks_rank(struct nat_hooks *hooks, const struct nat_attachment *wanted,
                             size_t count);
/* True if they are attached in each place, first or after others. */
bool nat_hooks_attached(struct nat_hooks *hooks, const struct nat_attachment *wanted, size_t count);

/*
 * Whether pins were created or removed since the last call, by this or another program: a link is
 * detached with its pin, and the kernel sends no notification. Costs one stat().
 */
bool nat_hooks_pins_moved(struct nat_hooks *hooks);

/* "tcx" or "clsact": the method in use, for status. */
const char *nat_hooks_method(const struct nat_hooks *hooks);

/*
 * Detaches all programs of a layer from all interfaces, by both methods; needs no datapath. Returns
 * how many were attached, or -errno.
 */
int nat_hooks_remove(const char *pins, enum nat_layer layer);
/* The same for every layer. */
int nat_hooks_remove_all(const char *pins);
