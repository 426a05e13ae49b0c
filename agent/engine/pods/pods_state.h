/* SPDX-License-Identifier: Apache-2.0 */
/* What the pods engine is made of, for the files that make it up. Internal to engine/pods/. */
#pragma once

#include "apply/netlink/nl.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "loop/backoff.h"
#include "plan/pods/pod_addresses.h"
#include "plan/pods/pod_attachment.h"
#include "plan/pods/pod_pools.h"
#include "plan/pods/pod_seen.h"

/* A pod interface whose link went without a DEL: its pod is cut off. */
struct pod_loss {
    struct pod_attachment attachment;
    int64_t lost_ms; /* monotonic */
};

/* A setting of a pod's host end that is another than wanted. */
struct pod_drift {
    uint32_t ifindex; /* 0: of the node as a whole */
    uint32_t request; /* a row of the table in pods_settings.c */
    long value;       /* as found */
};

/* A block that is about to be given back. */
struct pod_closed {
    char name[POD_INTERFACE_NAME_MAX + 1];
};

enum {
    POD_WAIT_MS = 2 * 60 * 1000,     /* the kubelet asks again by itself, sooner than that */
    POD_WAITS_MAX = 256,             /* pools that are waited for */
    PODS_PROMISE_MS = 5 * 60 * 1000, /* how long a link is waited for */
    PODS_LINK_MS = 30 * 1000,        /* until the mirror must have one that was told of */
    POD_LOSSES_MAX = 64,
    POD_LOSS_GRACE_MS = 700,           /* until it is a fault */
    POD_DOWN_GRACE_MS = 500,           /* likewise: an end that is deleted is down first */
    POD_LOSS_TOLD_MS = 60 * 60 * 1000, /* until nobody is told any more */
};

struct pods_engine {
    struct engine engine; /* first: it is all that the pass knows of */
    struct engine_setup setup;
    struct nl_socket *socket; /* for aliases and links */
    struct pod_addresses addresses;
    struct sorted attachments;   /* struct pod_attachment */
    struct sorted chained;       /* struct pod_attachment: behind other plugins, for egress alone */
    VEC(struct pod_loss) losses; /* oldest first */
    pod_wait_list waits;         /* one of a pool */
    VEC(struct pod_closed) closed;
    char *path;             /* of the state file */
    struct sorted was_used; /* struct ip: in use when the file was written; until first seen */
    struct sorted networks; /* struct pod_attachment: of those that were there then, likewise */
    bool unsaved;
    bool dirty; /* something that a round has to look at */
    bool blocks_dirty;
    struct sorted drifts;    /* struct pod_drift */
    VEC(uint32_t) moved;     /* interfaces whose settings are to be read at once */
    size_t settings_at;      /* the stay whose settings are read next */
    size_t settings_left;    /* how many are to be read without a rest */
    int64_t settings_due_ms; /* monotonic: when the next are read */
    bool
        gone_dirty; /* a Pod or an attachment came or went: they are looked for in the next round */
    int64_t gone_due_ms;    /* monotonic: when Pods that the API may not know are looked for */
    bool known;             /* a round has seen the kernel's links and the source's blocks */
    int64_t due_ms;         /* monotonic: when a round has to look without a change */
    int64_t waits_ms;       /* monotonic: when those that wait are looked at again */
    int64_t rested_wall_ms; /* when an address has rested that a pod waits for; INT64_MAX: none */
    int64_t unowned_ms;     /* monotonic: when foreign routes into the blocks are looked at again */
    struct backoff retry;
    int64_t retry_ms; /* monotonic; INT64_MAX: nothing was refused */
};

/* ---- pods_follow.c ---- */

/* Brings stays and routes in line with what the kernel shows. Returns 0 or -errno. */
int pods_follow(struct pods_engine *pods, struct round *round);

/* ---- pods_unowned.c ---- */

/* Adds to what was seen the addresses that somebody else's routes lead away; tells of them all. */
int pods_follow_unowned(struct pods_engine *pods, struct pods_seen *seen, int64_t now_ms,
                        struct faults *faults);

/* ---- pods_ends.c: the node's ends of pods' interfaces ---- */

/* Tells of those that are not as agent-cni made them, so that their pods are cut off. */
void pods_tell_ends(struct pods_engine *pods, int64_t now_ms, struct faults *faults);
/* Tells of pods whose address this node has itself: what is sent there never leaves it. */
void pods_tell_local(const struct pods_engine *pods, struct faults *faults);
/* Whether IPv6 routes cannot stand at the interface because of its MTU, which is told. */
bool pods_end_is_too_small(const struct pods_engine *pods, uint32_t ifindex);

/* ---- pods_waits.c ---- */

/* Tells of pools out of which pods wait for addresses. Returns 0 or -ENOMEM. */
int pods_follow_waits(struct pods_engine *pods, int64_t now_ms);

/* ---- pods_rule.c ---- */

/* Sees that table 116 is looked up, where routes are to stand there. Returns 0 or -errno. */
int pods_follow_rule(struct pods_engine *pods, struct round *round, struct faults *faults);

/* ---- pods_chained.c ---- */

/* Forgets those whose link is gone. */
void pods_follow_chained(struct pods_engine *pods, int64_t now_ms);

/* ---- pods_settings.c: sysctls that agent-cni wrote ---- */

int pod_drift_cmp(const void *a, const void *b);
void pods_settings_done(struct pods_engine *pods);
/* Interfaces of which the kernel told that a setting changed. Returns 0 or -ENOMEM. */
int pods_settings_hear(struct pods_engine *pods, const struct kernel_events *events);
/* Reads those that are due, and tells of those that are not as wanted. Returns 0 or -ENOMEM. */
int pods_follow_settings(struct pods_engine *pods, int64_t now_ms);

/* ---- pods_gone.c: interfaces of Pods that the API does not know ---- */

/* A Pod came or went: they are looked for in this round. */
void pods_note_gone(struct pods_engine *pods, const struct change *change);
/* Looks for them if it is time, and tells of those that stay. */
void pods_follow_gone(struct pods_engine *pods, int64_t now_ms);

/* ---- pods_want.c ---- */

/* Whether the stay is of the pod that asks. */
bool pods_is_same(const struct pod_attachment *attachment, const struct pod_request *request);

/* ---- pods_memory.c: when addresses were freed, on disk ---- */

/* A file that can't be read is a fault, and as good as none. Returns 0 or -ENOMEM. */
int pods_memory_load(struct pods_engine *pods);
/* Addresses that were in use when the file was written, and are not now, rest from now on. */
int pods_memory_settle(struct pods_engine *pods, int64_t now_wall_ms);
/* The network of one that was there when the file was written; "": it has none. */
const char *pods_memory_network(const struct pods_engine *pods, const struct pod_interface *key);
/* Writes it if something changed. */
void pods_memory_save(struct pods_engine *pods);

/* ---- pods_state.c ---- */

struct pod_attachment *pods_attachment(const struct pods_engine *pods,
                                       const struct pod_interface *key);
/* The Pod's name, or the pod interface where nobody has said which pod it is. Returns `buffer`. */
enum { POD_PLACE_LEN = POD_NAMESPACE_LEN + POD_INTERFACE_NAME_MAX + POD_INTERFACE_STRLEN };
const char *pods_place(const struct pod_attachment *attachment, char buffer[static POD_PLACE_LEN]);
/* Forgets a pod interface; its addresses rest. Returns 1, 0 if it is not known, or -ENOMEM. */
int pods_forget(struct pods_engine *pods, const struct pod_interface *key);
void pods_report(struct pods_engine *pods, const char *group, const struct faults *faults);
