/* SPDX-License-Identifier: Apache-2.0 */
/* An update of assignments while it is worked on; see assignment_update.c. Internal to plan/. */
#pragma once

#include "plan/pools/assignment_table.h"

/* One Service that the update is about. */
struct turn {
    struct assignment *row;        /* NULL: freed */
    const struct service *service; /* NULL: it is gone, or no address is given to it */
    bool absent;                   /* it is gone, and may yet come: all stays as it is */
    ip_list ips;
    struct lack lacks[2];
    struct lack uneven;
    lack_list lost;
    bool contests; /* its status names what another holds, and could not share with it */
    bool judged;   /* what it holds was; a turn that is only for what is lacking keeps all of it */
};

typedef VEC(struct turn) turn_list;

struct work {
    struct update update;
    turn_list turns;
    bool all;
};

/* The Service has the address from here on. 0 or -ENOMEM. */
int turn_take(struct work *work, struct turn *turn, const struct ip *ip);

bool ips_have_family(const ip_list *ips, enum ip_family family);
bool ips_have(const struct ip *ips, size_t count, const struct ip *ip);

/* `of`: who it is about, or NULL. 0 or -ENOMEM: then nothing needs to be freed. */
int lack_fill(struct lack *lack, enum lack_reason reason, const struct ip *ip,
              const struct object *of);

/* Gives every turn what it should have and does not. 0 or -ENOMEM. */
int turns_fill(struct work *work);
