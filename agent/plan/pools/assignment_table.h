/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of assignments, for the code that changes them. Internal to plan/. */
#pragma once

#include "plan/pools/assignment.h"

/* One Service that has an address; entries of one address are in order of the Services' keys. */
struct use {
    struct ip ip;
    struct assignment *row; /* NULL in a key: before all others */
};

/* The same of a Service with a sharing key; in order of key, address, Service. */
struct shared_use {
    const char *key; /* NULL in a key: before all others */
    struct use use;
};

void assignment_free(struct assignment *row);
DEFINE_CLEANUP(struct assignment *, assignment_free);
void lacks_done(lack_list *lacks);

/* The row of a Service, or NULL; the same, created if there is none. */
struct assignment *assignment_row(const struct assignments *assignments, const char *namespace,
                                  const char *name);
int assignment_row_make(struct assignments *assignments, const char *namespace, const char *name,
                        struct assignment **ret_row);

/* Records that the row has the address, or no longer has it. Returns 0 or -ENOMEM. */
int use_put(struct assignments *assignments, struct assignment *row, const struct ip *ip);
void use_remove(struct assignments *assignments, struct assignment *row, const struct ip *ip);
bool is_used(const struct assignments *assignments, const struct ip *ip);

/* One update: the input of all decisions about addresses. */
struct update {
    struct assignments *assignments; /* uses as decided so far */
    const struct assignment_inputs *inputs;
    struct pool_table *pools;
};

/* The first use of an address, or of the next that has one; its index. The use at an index, if it
 * is of the address, or NULL. */
size_t use_from(const struct assignments *assignments, const struct ip *ip);
const struct use *use_at(const struct assignments *assignments, size_t at, const struct ip *ip);

/*
 * The port for which two Services can't share an address although they have the same key; NULL:
 * none.
 */
const struct service_port *assignment_contested_port(const struct service *a,
                                                     const struct service *b);

/*
 * Whether the owners of the address can share it with the Service: LACK_NOTHING; LACK_BACKENDS, if
 * only their pods prevent it; else LACK_TAKEN. `*ret_of`: the first owner that prevents it, or
 * NULL.
 */
enum lack_reason assignment_judge_sharing(const struct update *update, const struct assignment *row,
                                          const struct service *service, const struct ip *ip,
                                          const struct object **ret_of);

/*
 * Whether the Service may have an address: LACK_NOTHING, or why not; `held`: it has it already.
 * `*ret_of` is the owner, if it is taken and the owner is known, else NULL. A held address stays
 * allowed if it is also used outside of assignments (another load balancer, an external IP, a
 * Node), and whatever the pods of the Services that share it.
 */
enum lack_reason assignment_judge(const struct update *update, const struct assignment *row,
                                  const struct service *service, const struct ip *ip, bool held,
                                  const struct object **ret_of);

/*
 * The common pool for both addresses of a dual-stack Service that has none and names none: that of
 * its previous address, or the first pool with a free one of each family; NULL: none. 0 or -ENOMEM.
 */
int assignment_choose_pool(const struct update *update, const struct assignment *row,
                           const struct service *service, const struct pool **ret_pool);

/*
 * Chooses an address for a Service that names none, from the preferred pool (or NULL) if that has
 * one. Returns 0, with LACK_NOTHING and the address, or with the reason why there is none, and with
 * LACK_EXHAUSTED or LACK_AVOIDED the first of its pools; or -ENOMEM.
 */
int assignment_choose(struct update *update, const struct assignment *row,
                      const struct service *service, enum ip_family family,
                      const struct pool *preferred, struct ip *ret_ip, enum lack_reason *ret_reason,
                      const struct object **ret_pool);

/* Whether the Service requests addresses of the family by name. */
bool assignment_names(const struct service *service, enum ip_family family);

/* Whether the Service is to have an address of the family. */
bool assignment_wants(const struct service *service, enum ip_family family);
