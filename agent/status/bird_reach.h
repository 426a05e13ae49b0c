/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is meant by "announced": one judgement for documents, metrics and health.
 *
 * A route is announced if it stands in the table that BIRD reads, BIRD has learned it, and at least
 * one session that is up sends it. What the peer does with it then can't be seen from this side.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "status/bird_status.h"

enum reach {
    REACH_ANNOUNCED, /* every session that is meant to send it does */
    REACH_PARTLY,    /* some of them */
    REACH_NOBODY,
    REACH_UNKNOWN,   /* BIRD does not answer, or has not learned all routes yet */
    REACH_UNWATCHED, /* in the table; no BIRD is named that could be asked */
    REACH_ABSENT,    /* not in the table */
    REACHES,
};

struct reach_of {
    enum reach reach;
    size_t sent, meant; /* sessions: that send it, and that are meant to */
};

/* For a prefix that this node wants announced; `installed`: it stands in BIRD's table. */
struct reach_of bird_reach(const struct bird_status *bird, const struct prefix *prefix,
                           bool installed);

/* "announced", "partly", "nobody", "unknown", "unwatched", "absent". */
const char *reach_name(enum reach reach);

/* Appends why it is not announced to all, as "no peer gets it: tor_v4: the session is down". */
void bird_reach_why(const struct bird_status *bird, const struct prefix *prefix,
                    const struct reach_of *of, struct text *out);

/* True if the table has routes of a family that no peer gets, though peers are expected. */
bool bird_is_unheard(const struct bird_status *bird);
