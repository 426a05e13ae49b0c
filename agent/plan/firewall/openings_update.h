/* SPDX-License-Identifier: Apache-2.0 */
/* The openings of all Services, one row per Service, updated for changed Services. */
#pragma once

#include "plan/firewall/openings.h"
#include "plan/nat/nat.h"

struct openings_row {
    char *namespace, *name; /* of the Service */
    opening_list openings;
};

/* A struct sorted of these rows, by namespace and name. */
int openings_row_cmp(const void *a, const void *b);
void openings_rows_done(struct sorted *rows);

/*
 * Plans the Services of `keys` (valid in this round only) again, or all of them. Returns 1 if
 * something has changed, 0, or -ENOMEM.
 */
int openings_update(const struct node_facts *facts, const nat_key_list *keys, bool all,
                    struct sorted *rows);
