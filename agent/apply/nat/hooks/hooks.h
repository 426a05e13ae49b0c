/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks: attaching the programs to interfaces, by TCX links where the kernel has them (Linux
 * 6.6), by clsact filters elsewhere. Links are pinned and filters stay by themselves, so both
 * outlive the agent; an upgrade swaps the programs without a gap.
 *
 * Pinned links, and filters of our priority, handle and name, are ours. Whatever else is attached
 * to an interface is not touched. Ours come first: what somebody else does with packets before we
 * have seen them is his decision, and may be the end of a Service.
 */
#pragma once

#include "apply/nat/datapath.h"
#include "apply/nat/hooks/place.h"

struct nat_hooks;

/* Whose programs are attached: those of service NAT, or those of egress, which stand behind. */
struct hook_programs {
    enum nat_layer layer;
    void *context; /* for the functions */
    /* The descriptor of a hook's program, borrowed, or -errno; `bare`: as nat_datapath_program().
     */
    int (*fd)(void *context, enum nat_hook hook, bool bare);
    uint32_t (*id)(void *context, enum nat_hook hook, bool bare); /* the kernel's; 0: unknown */
    /* The program that stands before it in the same place, likewise: -1 and 0: none does. */
    int (*leader_fd)(void *context, enum nat_hook hook, bool bare);
    uint32_t (*leader_id)(void *context, enum nat_hook hook, bool bare);
};

/* `pins`: as in nat_datapath_options. Finds what an earlier agent has attached. Returns 0 or
 * -errno.
 */
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
 * Makes the wanted attachments (sorted) the only ones of ours: attaches, swaps, attaches again what
 * somebody removed, detaches the rest. Where somebody else has attached before ours, ours is put in
 * front again, but not often; else that is a fault with his name. An interface that refuses is a
 * fault with its name; the next call tries again, and the caller sees to it that there is one.
 * Returns the number of changes, or -errno. `ret_repairs`: how many had been attached and were
 * gone.
 */
int nat_hooks_sync(struct nat_hooks *hooks, const struct nat_attachment *wanted, size_t count,
                   uint32_t *ret_repairs, struct faults *faults);

/* How the current programs stand in the wanted places; of several places the worst. */
enum nat_rank {
    NAT_RANK_NONE,   /* another program, or none */
    NAT_RANK_BEHIND, /* somebody else gets the packets first */
    NAT_RANK_FIRST,
};

/* Asks the kernel. Interfaces that are gone do not count. */
enum nat_rank nat_hooks_rank(struct nat_hooks *hooks, const struct nat_attachment *wanted,
                             size_t count);
/* True if they stand in each, be it first or behind others. */
bool nat_hooks_attached(struct nat_hooks *hooks, const struct nat_attachment *wanted, size_t count);

/*
 * Whether pins came or went since this was last asked, by our hand or another's: a link goes with
 * its pin, and the kernel tells nobody. Costs one stat().
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
