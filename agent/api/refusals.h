/* SPDX-License-Identifier: Apache-2.0 */
/* What NAT refused, by name of Service; for several documents. */
#pragma once

#include "api/view.h"
#include "format/json.h"

struct named_refusal {
    struct nat_refusal refusal;
    char *service; /* "namespace/name"; "" of none */
};

/* In order of Service; of one Service the latest first. */
typedef VEC(struct named_refusal) refusal_set;

/* Everything that the maps remember; nothing where NAT is off. Returns 0 or -errno. */
int refusal_set_load(const struct api_state *state, refusal_set *ret_set);
void refusal_set_done(refusal_set *set);

/* One item of a list. */
void write_refusal(struct json *json, const struct api_state *state,
                   const struct named_refusal *refusal);
/* "refusals": those of one Service. */
void write_refusals_of(struct json *json, const struct api_state *state, const refusal_set *set,
                       const char *namespace, const char *name);
/* Reorders the set: the latest of all first. */
void refusal_set_sort_latest(refusal_set *set);
