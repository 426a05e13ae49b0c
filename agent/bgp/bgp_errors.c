// SPDX-License-Identifier: Apache-2.0
/*
 * Errors of BGP sessions: which of them to report. detect/session_error.h explains them.
 *
 * BIRD 2 writes "Received: " before an error that the peer sent, "BGP Error: " or "Error: " before
 * an error that BIRD detected, and "Socket: " before the errno of a connection. Its last error is
 * that of the last attempt.
 */
#include "bgp/bgp_errors.h"

#include <string.h>

static bool is_of_bgp(const char *error)
{
    return strncmp(error, "Received: ", 10) == 0 || strstr(error, "Error: ");
}

/* What this end sees of one refusal by the peer's kernel, depending on which end closes first. */
static bool is_hang_up(const char *error)
{
    return strcmp(error, "Socket: Connection closed") == 0 ||
           strcmp(error, "Socket: Connection reset by peer") == 0;
}

/* Whether the previous error means the same: two errors that alternate would make a fault that
 * is raised and cleared again and again. */
static bool still_holds(const char *before, const char *now)
{
    return !is_of_bgp(now) && (is_of_bgp(before) || (is_hang_up(before) && is_hang_up(now)));
}

static bool is_about(const struct bgp_error *error, const struct bgp_peer *peer)
{
    return strcmp(error->name, peer->name) == 0 && strcmp(error->address, peer->address) == 0 &&
           error->asn == peer->asn && error->local_asn == peer->local_asn;
}

static struct bgp_error *find(bgp_error_list *errors, const struct bgp_peer *peer)
{
    vec_each(struct bgp_error, error, errors)
        if (is_about(error, peer))
            return error;
    return NULL;
}

static void keep(bgp_error_list *errors, const struct bgp_peer *peer)
{
    struct bgp_error error = { .asn = peer->asn, .local_asn = peer->local_asn };
    memcpy(error.name, peer->name, sizeof(error.name));
    memcpy(error.address, peer->address, sizeof(error.address));
    memcpy(error.error, peer->last_error, sizeof(error.error));
    (void)vec_push(errors, error);
}

void bgp_errors_remember(bgp_error_list *errors, struct bird_status *bird)
{
    bgp_error_list kept = { 0 };
    vec_each(struct bgp_peer, peer, &bird->peers) {
        const struct bgp_error *before = find(errors, peer);
        if (peer->established || peer->disabled)
            continue;
        if (before && still_holds(before->error, peer->last_error))
            memcpy(peer->last_error, before->error, sizeof(peer->last_error));
        if (is_of_bgp(peer->last_error) || is_hang_up(peer->last_error))
            keep(&kept, peer);
    }
    vec_done(errors);
    *errors = kept;
}
