/* SPDX-License-Identifier: Apache-2.0 */
/* The members of the pods engine, for the files that make it up. Internal to engine/pods/. */
#pragma once

#include "apply/netlink/nl.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "loop/backoff.h"
#include "plan/pods/pod_addresses.h"
#include "plan/pods/pod_attachment.h"
#include "plan/pods/pod_pools.h"
#include "plan/pods/pod_seen.h"

/* A pod interface whose link was deleted without a DEL: its pod is cut off. */
struct pod_loss {
    struct pod_attachment attachment;
    int64_t lost_ms; /* monotonic */
};

/* A setting of a pod's host end that differs from the wanted value. */
struct pod_drift {
    uint32_t ifindex; /* 0: of the node as a whole */
    uint32_t request; /* a row of the table in pods_settings.c */
    long value;       /* the value found */
};

/* A block that is about to be given back. */
struct pod_closed {
    char name[POD_INTERFACE_NAME_MAX + 1];
};

enum {
    POD_WAIT_MS = 2 * 60 * 1000,     /* the kubelet retries sooner than that */
    POD_WAITS_MAX = 256,             /* pools with waiting pods */
    PODS_PROMISE_MS = 5 * 60 * 1000, /* how long the agent waits for a link */
    PODS_LINK_MS = 30 * 1000,        /* until the mirror must have a link that was reported */
    POD_LOSSES_MAX = 64,
    POD_LOSS_GRACE_MS = 700,           /* until it is a fault */
    POD_DOWN_GRACE_MS = 500,           /* likewise: an end that is being deleted is down first */
    POD_LOSS_TOLD_MS = 60 * 60 * 1000, /* until it is no longer reported */
};

struct pods_engine {
    struct engine engine; /* first member: the pass uses only this */
    struct engine_setup setup;
    struct nl_socket *socket; /* for aliases and links */
    struct pod_addresses addresses;
    struct sorted attachments;   /* struct pod_attachment */
    struct sorted chained;       /* struct pod_attachment: behind other plugins, for egress alone */
    VEC(struct pod_loss) losses; /* oldest first */
    pod_wait_list waits;         /* one per pool */
    VEC(struct pod_closed) closed;
    char *path;             /* of the state file */
    struct sorted was_used; /* struct ip: in use when the file was written; until first seen */
    struct sorted networks; /* struct pod_attachment: those that existed then, likewise */
    bool unsaved;
    bool dirty; /* there is work for a round */
    bool blocks_dirty;
    struct sorted drifts;    /* struct pod_drift */
    VEC(uint32_t) moved;     /* interfaces whose settings are to be read at once */
    size_t settings_at;      /* index of the attachment whose settings are read next */
    size_t settings_left;    /* how many are to be read without a pause */
    int64_t settings_due_ms; /* monotonic: when the next are read */
    bool
        gone_dirty; /* a Pod or an attachment was added or deleted: a check runs in the next pass */
    int64_t gone_due_ms;    /* monotonic: when Pods unknown to the API are next searched for */
    bool known;             /* a round has seen the kernel's links and the source's blocks */
    int64_t due_ms;         /* monotonic: when a round has to run without a change */
    int64_t waits_ms;       /* monotonic: when waiting pods are next checked */
    int64_t rested_wall_ms; /* when the cooldown of an address ends for which a pod waits;
                               INT64_MAX: none */
    int64_t unowned_ms;     /* monotonic: when foreign routes into the blocks are next checked */
    struct backoff retry;
    int64_t retry_ms; /* monotonic; INT64_MAX: nothing was refused */
};

/* ---- pods_follow.c ---- */

/* Brings attachments and routes in line with the kernel's tables. Returns 0 or -errno. */
int pods_follow(struct pods_engine *pods, struct round *round);

/* ---- pods_unowned.c ---- */

/* Adds to what was seen the addresses that foreign routes divert; reports all of them. */
int pods_follow_unowned(struct pods_engine *pods, struct pods_seen *seen, int64_t now_ms,
                        struct faults *faults);

/* ---- pods_ends.c: the node's ends of pods' interfaces ---- */

/* Reports the ends that differ from what agent-cni made, so that their pods are cut off. */
void pods_tell_ends(struct pods_engine *pods, int64_t now_ms, struct faults *faults);
/* Reports pods whose address is also local to this node: packets to it never leave the node. */
void pods_tell_local(const struct pods_engine *pods, struct faults *faults);
/* Whether the MTU of the interface is too small for IPv6 routes, which is reported. */
bool pods_end_is_too_small(const struct pods_engine *pods, uint32_t ifindex);

/* ---- pods_waits.c ---- */

/* Reports the pools for whose addresses pods wait. Returns 0 or -ENOMEM. */
int pods_follow_waits(struct pods_engine *pods, int64_t now_ms);

/* ---- pods_rule.c ---- */

/* Ensures that a rule looks up table 116, where routes are to be in it. Returns 0 or -errno. */
int pods_follow_rule(struct pods_engine *pods, struct round *round, struct faults *faults);

/* ---- pods_chained.c ---- */

/* Forgets chained pods whose link is gone. */
void pods_follow_chained(struct pods_engine *pods, int64_t now_ms);

/* ---- pods_settings.c: sysctls that agent-cni wrote ---- */

int pod_drift_cmp(const void *a, const void *b);
void pods_settings_done(struct pods_engine *pods);
/* Notes the interfaces of which the kernel reported a changed setting. Returns 0 or -ENOMEM. */
int pods_settings_hear(struct pods_engine *pods, const struct kernel_events *events);
/* Reads the settings that are due, and reports those that differ. Returns 0 or -ENOMEM. */
int pods_follow_settings(struct pods_engine *pods, int64_t now_ms);

/* ---- pods_gone.c: interfaces of Pods that the API does not have ---- */

/* A Pod was added or deleted: the check runs in this round. */
void pods_note_gone(struct pods_engine *pods, const struct change *change);
/* Runs the check if it is due, and reports interfaces that remain. */
void pods_follow_gone(struct pods_engine *pods, int64_t now_ms);

/* ---- pods_want.c ---- */

/* Whether the attachment belongs to the pod of the request. */
bool pods_is_same(const struct pod_attachment *attachment, const struct pod_request *request);

/* ---- pods_memory.c: when addresses were freed, on disk ---- */

/* A file that can't be read is a fault, and is treated as absent. Returns 0 or -ENOMEM. */
int pods_memory_load(struct pods_engine *pods);
/* Addresses that were in use when the file was written, and are not now, begin their cooldown. */
int pods_memory_settle(struct pods_engine *pods, int64_t now_wall_ms);
/* The network of a pod interface that existed when the file was written; "": it has none. */
const char *pods_memory_network(const struct pods_engine *pods, const struct pod_interface *key);
/* Writes the file if something changed. */
void pods_memory_save(struct pods_engine *pods);

/* ---- pods_state.c ---- */

struct pod_attachment *pods_attachment(const struct pods_engine *pods,
                                       const struct pod_interface *key);
/* The Pod's name, or the pod interface if its pod is not known. Returns `buffer`. */
enum { POD_PLACE_LEN = POD_NAMESPACE_LEN + POD_INTERFACE_NAME_MAX + POD_INTERFACE_STRLEN };
const char *pods_place(const struct pod_attachment *attachment, char buffer[static POD_PLACE_LEN]);
/*
 * Forgets a pod interface; its addresses begin their cooldown. Returns 1, 0 if it is not known, or
 * -ENOMEM.
 */
int pods_forget(struct pods_engine *pods, const struct pod_interface *key);
void pods_report(struct pods_engine *pods, const char *group, const struct faults *faults);
