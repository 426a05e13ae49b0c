/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of all Services: planned from nothing, or updated for the Services that a change
 * affects. Both use one function, so that updated rows equal rows planned from nothing.
 */
#pragma once

#include "plan/nat/nat.h"

/* One Service that was planned again. */
struct nat_planned {
    struct nat_key key;
    struct nat_row *before; /* its row so far, borrowed; NULL: none */
    struct nat_row *after;  /* its row now; the callback may take it. NULL: none */
    struct faults faults;   /* all current faults of its plan */
};

/* Called for each Service. A result other than 0 ends the iteration and is returned. */
typedef int (*nat_planned_fn)(void *context, struct nat_planned *planned);

/*
 * Plans Services again, in order of namespace and name, one at a time: with `all` each one that
 * exists or has a row, else those of `keys`. `keys` is sorted, loses duplicates and, with `all`,
 * gains keys that are borrowed from objects and rows. `rows` (struct nat_row *, sorted) is only
 * read while this runs. Returns 0, -ENOMEM, or what `each` returned.
 */
int plan_nat_update(const struct node_facts *facts, const struct sorted *rows, bool all,
                    nat_key_list *keys, nat_planned_fn each, void *context);

/* The rows of all Services, from nothing: struct nat_row *, sorted. Returns 0 or -ENOMEM. */
int plan_nat(const struct node_facts *facts, struct sorted *ret_rows, struct faults *faults);
