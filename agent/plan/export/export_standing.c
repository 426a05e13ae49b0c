// SPDX-License-Identifier: Apache-2.0
/* The words and counts of documents' states; see export_standing.h. */
#include "plan/export/export_standing.h"

#define NODES_OWNER "nodes" /* in the marker of the list of nodes */

const char *export_state_name(enum export_state state)
{
    static const char *const names[EXPORT_STATES] = {
        [EXPORT_UNKNOWN] = "unknown", [EXPORT_CURRENT] = "current", [EXPORT_PENDING] = "pending",
        [EXPORT_GOING] = "going",     [EXPORT_HELD] = "held",       [EXPORT_KEPT] = "kept",
        [EXPORT_BLOCKED] = "blocked",
    };
    return names[state];
}

size_t export_standings_count(const export_standings *standings, enum export_state state)
{
    size_t count = 0;
    vec_each(const struct export_standing, standing, standings)
        count += standing->state == state;
    return count;
}

int export_standings_of(const struct export_plan *plan, export_standings *standings)
{
    int r = 0;
    for (size_t i = 0; i < plan->documents.count && r == 0; i++) {
        const struct export_document *document = &plan->documents.items[i];
        const struct export_standing standing = {
            .key = document->key,
            .owner = export_document_owner(document),
            .wanted = document,
        };
        r = vec_push(standings, standing);
    }
    return r;
}

const char *export_document_owner(const struct export_document *document)
{
    return *document->owner ? document->owner : NODES_OWNER;
}
