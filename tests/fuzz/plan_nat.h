/* SPDX-License-Identifier: Apache-2.0 */
/* NAT's rows and settings, kept up to date change by change, and what must hold of them. */
#pragma once

#include "plan/nat.h"

struct nat_kept {
    struct sorted rows; /* struct nat_row * */
    struct nat_settings settings;
};

void nat_kept_begin(struct nat_kept *kept, const struct node_facts *facts);
void nat_kept_done(struct nat_kept *kept);

/* Works changes of the store in. */
void nat_kept_follow(struct nat_kept *kept, const struct node_facts *facts,
                     const change_list *changes);

/* What is kept is what is planned from nothing, and agrees with itself and with the routes. */
void nat_kept_check(const struct nat_kept *kept, const struct node_facts *facts,
                    const struct route_plan *plan);

/* The same rows and settings. */
void nat_kept_compare(const struct nat_kept *left, const struct nat_kept *right);
