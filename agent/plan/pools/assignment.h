/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which LoadBalancer addresses Services have from pools, and why one has none.
 *
 * Pure: held addresses are a value that the caller keeps across updates, and time is an argument.
 * The same Services, pools and held addresses give the same result, independent of their order:
 *
 * 1. A Service keeps the addresses that it holds and may still have: first those in its status,
 *    then those allocated to it before. Of two Services that can't share, the older one keeps the
 *    address; but a Service that has it only in its status loses to one to which it was allocated.
 * 2. Addresses requested by name are allocated next, then all others; older Services first.
 * 3. A freed address is in cooldown: it is allocated to others only after some time, or when its
 *    pool has no other. Its last owner, unless it requests one by name, gets it back meanwhile.
 *
 * "Older" is object_precedence_cmp(). An update covers the Services that changed, those that share
 * an address with them, and those that lack something; its cost is proportional to their number.
 */
#pragma once

#include "base/net/ip.h"
#include "base/sorted.h"
#include "model/services/service.h"
#include "plan/pools/pool_table.h"
#include "plan/pools/rests.h"
#include "store/store.h"

/* Why a Service does not have all its addresses, or must release one. */
enum lack_reason {
    LACK_NOTHING,
    LACK_UNREADABLE,   /* its request can't be read */
    LACK_UNKNOWN_POOL, /* the requested pool does not exist */
    LACK_NO_POOL,      /* no pool of the family allows it */
    LACK_EXHAUSTED,    /* every address of its pools is in use */
    LACK_OUTSIDE,      /* the address is of no pool */
    LACK_OTHER_POOL,   /* it is not of the requested pool */
    LACK_FORBIDDEN,    /* its pool does not allow the Service */
    LACK_AVOIDED,      /* its pool avoids it (avoidBuggyIPs) */
    LACK_TAKEN,        /* another Service has it */
    LACK_BACKENDS, /* another Service has it with the same sharing key, and policy Local with other
                      pods */
    LACK_OTHER_FAMILY, /* the Service is not of its family */
    LACK_PARTNER,      /* RequireDualStack, and the other family has none */
    LACK_NOT_WISHED,   /* others are requested by name, or fewer are */
    LACK_RECORD,       /* previous allocations are unknown: nothing is allocated */
    LACK_FOREIGN,      /* its status was written by another allocator (foreign_status.h) */
    LACK_REASONS,
};

/* "exhausted": stable words, part of the API; a sentence; the remedy. */
const char *lack_reason_name(enum lack_reason reason);
const char *lack_reason_text(enum lack_reason reason);
const char *lack_reason_remedy(enum lack_reason reason);

struct lack {
    enum lack_reason reason;
    struct ip ip; /* the address concerned; IP_NONE: none by name */
    char *of;     /* "Service shop/web", "IPAddressPool lb"; NULL: no matter */
};

typedef VEC(struct lack) lack_list;

/* One Service. One allocation, with strings and lists of its own. */
struct assignment {
    char *namespace, *name;
    ip_list ips;          /* what it has, sorted */
    struct lack lacks[2]; /* per family: IPv4, IPv6 */
    struct lack uneven;   /* LACK_BACKENDS: what it shares all the same, since it has it */
    lack_list lost;       /* addresses lost in the last update of the Service, and why */
    char *sharing_key;    /* NULL: it has none */
    bool in_turn;         /* for assignments_update() */
};

static inline bool assignment_is_pending(const struct assignment *assignment)
{
    return assignment->lacks[0].reason || assignment->lacks[1].reason;
}

/* Whether its status was written by another allocator: then it is not written. */
static inline bool assignment_is_foreign(const struct assignment *assignment)
{
    return assignment->lacks[0].reason == LACK_FOREIGN ||
           assignment->lacks[1].reason == LACK_FOREIGN;
}

struct assignments {
    struct sorted rows;    /* struct assignment *, by namespace and name */
    struct sorted uses;    /* which Service has which address: struct use (assignment_table.h) */
    struct sorted shared;  /* of these, those of Services with a sharing key: struct shared_use */
    struct sorted pending; /* the rows that lack something */
    struct sorted uneven;  /* the rows that share an address which would not be allocated so */
    struct rests rests;
    bool stale;       /* the last update failed: the next one is over everything */
    uint64_t version; /* incremented when a Service's addresses or the cooldowns change */
};

void assignments_init(struct assignments *assignments);
void assignments_done(struct assignments *assignments);

/* Adds previous allocations, before the first update. Returns 0 or -ENOMEM. */
int assignments_hold(struct assignments *assignments, const char *namespace, const char *name,
                     const struct ip *ip);
int assignments_rest(struct assignments *assignments, const struct ip *ip, int64_t freed_ms,
                     const char *namespace, const char *name);

struct assignment_inputs {
    const struct store *store;
    struct pool_table *pools;        /* its cursors are moved; the same table, or a new one */
    const char *load_balancer_class; /* "": Services without one */
    int64_t now_ms, rest_ms;         /* wall clock; cooldown of a freed address */
    const struct sorted *unowned; /* struct ip: given to nobody who does not name it; NULL: none */
    bool keep_only;               /* held addresses are kept, and nothing is allocated */
    bool keep_absent; /* a Service that is not in the store may still be added: it keeps its
                         addresses */
};

struct assignment_key {
    const char *namespace, *name;
};

/* What changed. A change of a pool or Namespace is `all`. */
struct assignment_scope {
    bool all;
    const struct assignment_key *keys; /* Services; duplicates allowed */
    size_t count;
};

/*
 * Updates the assignments. `each` is called for every Service that was processed and still exists,
 * after all decisions; may be NULL. Returns 0; or -ENOMEM with all held addresses unchanged, and
 * the next update covers everything.
 */
typedef void (*assigned_fn)(void *context, const struct assignment *assignment,
                            const struct service *service);
int assignments_update(struct assignments *assignments, const struct assignment_inputs *inputs,
                       const struct assignment_scope *scope, assigned_fn each, void *context);

/*
 * Whether the pools allow the Service an address, whether or not another has it: LACK_NOTHING, or
 * why not.
 */
enum lack_reason pools_permit(const struct store *store, const struct pool_table *pools,
                              const struct service *service, const struct ip *ip);

/* Whether addresses are allocated to the Service, by its type and class. */
bool assignment_is_for(const char *load_balancer_class, const struct service *service);

const struct assignment *assignment_of(const struct assignments *assignments, const char *namespace,
                                       const char *name);

static inline const struct assignment *assignment_at(const struct assignments *assignments,
                                                     size_t index)
{
    return *(struct assignment *const *)sorted_at(&assignments->rows, index);
}

/*
 * The usage of a pool: IPv4, IPv6. UINT64_MAX: that many or more. Unused addresses that
 * avoidBuggyIPs excludes are not counted.
 */
struct pool_use {
    uint64_t size[2];
    uint64_t used[2];
    uint64_t resting[2];
    uint64_t reserved[2]; /* unused, allocated only by name */
    uint64_t free[2];     /* neither used nor reserved */
};
int pool_use_count(const struct assignments *assignments, const struct pool_table *table,
                   const struct pool *pool, struct pool_use *ret_use); /* 0 or -ENOMEM */

/* The sum of both families. */
static inline uint64_t pool_use_sum(const uint64_t number[static 2])
{
    return number[0] > UINT64_MAX - number[1] ? UINT64_MAX : number[0] + number[1];
}

/*
 * A fault for each Service that lacks something, or shares an address with a Service of other pods.
 */
void assignment_faults(const struct assignments *assignments, struct faults *faults);
