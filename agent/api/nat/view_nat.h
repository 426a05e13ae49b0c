/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of NAT as documents show it, and its rows by name. */
#pragma once

#include "base/sorted.h"
#include "format/json.h"
#include "plan/nat/nat_table.h"

/* "nat" of a Plan: rows of struct nat_row *. */
void write_nat(struct json *json, const struct sorted *rows);
/* The members of a frontend, into an object that is open. */
void write_frontend_members(struct json *json, const struct nat_family *family,
                            const struct nat_frontend *frontend);

/* The row of a Service, or NULL. */
const struct nat_row *find_nat_row(const struct sorted *rows, const char *namespace,
                                   const char *name);
/* The same by "namespace/name". */
const struct nat_row *find_nat_row_of(const struct sorted *rows, const char *service);

static inline const struct nat_row *nat_row_at(const struct sorted *rows, size_t index)
{
    return *(struct nat_row *const *)sorted_at(rows, index);
}
