/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of all Services: from nothing, and brought up to date by those that a change touches.
 * Both are one function, so that rows that were kept up to date equal rows planned from nothing.
 */
#pragma once

#include "plan/nat/nat.h"

/* One Service that was planned again. */
struct nat_planned {
    struct nat_key key;
    struct nat_row *before; /* its row so far, borrowed; NULL: none */
    struct nat_row *after;  /* its row now; whoever is told may take it. NULL: none */
    struct faults faults;   /* all that is wrong with the plan of it, in place of what was */
};

/* Called for each Service. Anything but 0 ends the walk and is its result. */
typedef int (*nat_planned_fn)(void *context, struct nat_planned *planned);

/*
 * Plans Services again, in order of namespace and name, one at a time: with `all` each that is
 * there or has a row, else those of `keys`. `keys` is sorted, loses duplicates and, with `all`,
 * gains keys that are borrowed from objects and rows. `rows` (struct nat_row *, sorted) is only
 * read while this runs. Returns 0, -ENOMEM, or what `each` returned.
 */
int plan_nat_update(const struct node_facts *facts, const struct sorted *rows, bool all,
                    nat_key_list *keys, nat_planned_fn each, void *context);

/* The rows of all Services, from nothing: struct nat_row *, sorted. Returns 0 or -ENOMEM. */
int plan_nat(const struct node_facts *facts, struct sorted *ret_rows, struct faults *faults);
