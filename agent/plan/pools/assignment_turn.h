/* SPDX-License-Identifier: Apache-2.0 */
/* The working state of an update of assignments; see assignment_update.c. Internal to plan/. */
#pragma once

#include "plan/pools/assignment_table.h"

/* One Service of the update. */
struct turn {
    struct assignment *row;        /* NULL: freed */
    const struct service *service; /* NULL: it is gone, or it gets no addresses */
    bool absent;                   /* it is not in the store, but may be added: nothing changes */
    ip_list ips;
    struct lack lacks[2];
    struct lack uneven;
    lack_list lost;
    bool contests; /* its status names an address that another Service holds and can't share */
    bool judged; /* its held addresses were checked; a turn that only fills lacks keeps all of them
                  */
};

typedef VEC(struct turn) turn_list;

struct work {
    struct update update;
    turn_list turns;
    bool all;
};

/* Assigns the address to the Service. Returns 0 or -ENOMEM. */
int turn_take(struct work *work, struct turn *turn, const struct ip *ip);

bool ips_have_family(const ip_list *ips, enum ip_family family);
bool ips_have(const struct ip *ips, size_t count, const struct ip *ip);

/* `of`: the object concerned, or NULL. Returns 0 or -ENOMEM: then nothing needs to be freed. */
int lack_fill(struct lack *lack, enum lack_reason reason, const struct ip *ip,
              const struct object *of);

/* Allocates the missing addresses of every turn. Returns 0 or -ENOMEM. */
int turns_fill(struct work *work);
