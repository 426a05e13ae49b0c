/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which LoadBalancer addresses Services have out of pools, and why one has none.
 *
 * Pure: what is held is a value that the caller keeps from update to update, and time comes in. The
 * same Services, pools and held addresses give the same result, in whichever order they came:
 *
 * 1. What a Service holds and may still have, it keeps: first what its status says, then what it
 * was given before. Of two who can't share, the older one does; but whose status alone names what
 * another was given does not have it.
 * 2. Addresses that are asked for by name are given next, then all others; older Services first.
 * 3. An address that nobody has any more rests: it is given to others again after a time, or when
 *    its pool has nothing else. Who had it last, and asks for none by name, gets it back meanwhile.
 *
 * "Older" is object_precedence_cmp(). An update is over the Services that changed, those that share
 * an address with them, and those that lack something; its work is in proportion to these.
 */
#pragma once

#include "base/net/ip.h"
#include "base/sorted.h"
#include "model/services/service.h"
#include "plan/pools/pool_table.h"
#include "plan/pools/rests.h"
#include "store/store.h"

/* Why a Service has not all that it should have, or must give an address up. */
enum lack_reason {
    LACK_NOTHING,
    LACK_UNREADABLE,   /* its request can't be read */
    LACK_UNKNOWN_POOL, /* the pool that it asks for does not exist */
    LACK_NO_POOL,      /* no pool of the family is for it */
    LACK_EXHAUSTED,    /* every address of its pools is in use */
    LACK_OUTSIDE,      /* the address is of no pool */
    LACK_OTHER_POOL,   /* it is not of the pool that is asked for */
    LACK_FORBIDDEN,    /* its pool is not for the Service */
    LACK_AVOIDED,      /* its pool avoids it (avoidBuggyIPs) */
    LACK_TAKEN,        /* another Service has it */
    LACK_BACKENDS,     /* another has it with its key, and policy Local of other pods */
    LACK_OTHER_FAMILY, /* the Service is not of its family */
    LACK_PARTNER,      /* RequireDualStack, and the other family has none */
    LACK_NOT_WISHED,   /* others are asked for by name, or fewer are */
    LACK_RECORD,       /* who was given what is not known: nothing is given */
    LACK_FOREIGN,      /* its status is another assigner's (foreign_status.h) */
    LACK_REASONS,
};

/* "exhausted": stable words, part of the API; a sentence about it; what to do. */
const char *lack_reason_name(enum lack_reason reason);
const char *lack_reason_text(enum lack_reason reason);
const char *lack_reason_remedy(enum lack_reason reason);

struct lack {
    enum lack_reason reason;
    struct ip ip; /* that it is about; IP_NONE: none by name */
    char *of;     /* "Service shop/web", "IPAddressPool lb"; NULL: no matter */
};

typedef VEC(struct lack) lack_list;

/* One Service. An allocation with its own strings and lists. */
struct assignment {
    char *namespace, *name;
    ip_list ips;          /* what it has, sorted */
    struct lack lacks[2]; /* what it lacks of IPv4, of IPv6 */
    struct lack uneven;   /* LACK_BACKENDS: what it shares all the same, since it has it */
    lack_list lost;       /* what it had until the last update that was about it, and why no more */
    char *sharing_key;    /* NULL: it has none */
    bool in_turn;         /* for assignments_update() */
};

static inline bool assignment_is_pending(const struct assignment *assignment)
{
    return assignment->lacks[0].reason || assignment->lacks[1].reason;
}

/* Whether its status is another assigner's: then nothing is to be written to it. */
static inline bool assignment_is_foreign(const struct assignment *assignment)
{
    return assignment->lacks[0].reason == LACK_FOREIGN ||
           assignment->lacks[1].reason == LACK_FOREIGN;
}

struct assignments {
    struct sorted rows;    /* struct assignment *, by namespace and name */
    struct sorted uses;    /* who has which address: struct use (assignment_table.h) */
    struct sorted shared;  /* of these, those of Services with a sharing key: struct shared_use */
    struct sorted pending; /* the rows that lack something */
    struct sorted uneven;  /* the rows that share what would not be given so */
    struct rests rests;
    bool stale;       /* the last update failed: the next one is over everything */
    uint64_t version; /* rises when somebody has another address, or another one rests */
};

void assignments_init(struct assignments *assignments);
void assignments_done(struct assignments *assignments);

/* What is known of earlier times, before the first update. 0 or -ENOMEM. */
int assignments_hold(struct assignments *assignments, const char *namespace, const char *name,
                     const struct ip *ip);
int assignments_rest(struct assignments *assignments, const struct ip *ip, int64_t freed_ms,
                     const char *namespace, const char *name);

struct assignment_inputs {
    const struct store *store;
    struct pool_table *pools;        /* its cursors are moved; the same one, or one made anew */
    const char *load_balancer_class; /* "": Services without one */
    int64_t now_ms, rest_ms;         /* wall clock; how long a freed address rests */
    const struct sorted *unowned; /* struct ip: given to nobody who does not name it; NULL: none */
    bool keep_only;               /* what is held is kept, and nothing is given */
    bool keep_absent; /* a Service that is not in the store may yet come: it keeps what it holds */
};

struct assignment_key {
    const char *namespace, *name;
};

/* What changed. Pools and Namespaces that changed are `all`. */
struct assignment_scope {
    bool all;
    const struct assignment_key *keys; /* Services; may repeat */
    size_t count;
};

/*
 * Brings the assignments up to date. `each` is called for every Service that was looked at and is
 * still there, when all is decided; NULL: nobody is. Returns 0; or -ENOMEM with everything held as
 * it was, and the next update over everything.
 */
typedef void (*assigned_fn)(void *context, const struct assignment *assignment,
                            const struct service *service);
int assignments_update(struct assignments *assignments, const struct assignment_inputs *inputs,
                       const struct assignment_scope *scope, assigned_fn each, void *context);

/* Whether the pools let the Service have an address, whoever has it: LACK_NOTHING, or why not. */
enum lack_reason pools_permit(const struct store *store, const struct pool_table *pools,
                              const struct service *service, const struct ip *ip);

/* Whether addresses are given to the Service at all: by type and class. */
bool assignment_is_for(const char *load_balancer_class, const struct service *service);

const struct assignment *assignment_of(const struct assignments *assignments, const char *namespace,
                                       const char *name);

static inline const struct assignment *assignment_at(const struct assignments *assignments,
                                                     size_t index)
{
    return *(struct assignment *const *)sorted_at(&assignments->rows, index);
}

/* How full a pool is: of IPv4, of IPv6. UINT64_MAX is that many or more. What avoidBuggyIPs keeps
 * back, and nobody has, is not counted. */
struct pool_use {
    uint64_t size[2];
    uint64_t used[2];
    uint64_t resting[2];
    uint64_t reserved[2]; /* that only who asks by name gets, and nobody has */
    uint64_t free[2];     /* none of the three */
};
int pool_use_count(const struct assignments *assignments, const struct pool_table *table,
                   const struct pool *pool, struct pool_use *ret_use); /* 0 or -ENOMEM */

/* Of both families. */
static inline uint64_t pool_use_sum(const uint64_t number[static 2])
{
    return number[0] > UINT64_MAX - number[1] ? UINT64_MAX : number[0] + number[1];
}

/* A fault for each Service that lacks something, or shares an address with other pods. */
void assignment_faults(const struct assignments *assignments, struct faults *faults);
