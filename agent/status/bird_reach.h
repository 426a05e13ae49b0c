/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a route is "announced": one definition for documents, metrics and health.
 *
 * A route is announced if it is installed in the table that BIRD reads, BIRD has learned it, and at
 * least one established session exports it. Whether the peer accepts it can't be seen from here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "status/bird_status.h"

enum reach {
    REACH_ANNOUNCED, /* all sessions that should export it do */
    REACH_PARTLY,    /* only some of them do */
    REACH_NOBODY,
    REACH_UNKNOWN,   /* BIRD does not respond, or has not learned all routes yet */
    REACH_UNWATCHED, /* in the table; no BIRD socket is configured */
    REACH_ABSENT,    /* not in the table */
    REACHES,
};

struct reach_of {
    enum reach reach;
    size_t sent, meant; /* sessions that export it, and that should */
};

/* For a prefix that this node wants announced; `installed`: it is in the table that BIRD reads. */
struct reach_of bird_reach(const struct bird_status *bird, const struct prefix *prefix,
                           bool installed);

/* "announced", "partly", "nobody", "unknown", "unwatched", "absent". */
const char *reach_name(enum reach reach);

/*
 * Appends why it is not announced to all peers, as "no peer gets it: tor_v4: the session is down".
 */
void bird_reach_why(const struct bird_status *bird, const struct prefix *prefix,
                    const struct reach_of *of, struct text *out);

/* True if the table has routes of a family that no peer receives, though peers are expected. */
bool bird_is_unheard(const struct bird_status *bird);
