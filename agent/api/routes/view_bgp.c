// SPDX-License-Identifier: Apache-2.0
/*
 * What BIRD says, in the documents PeerList, Status and Explanation.
 *
 * All is as of the last poll of BIRD's control socket. While BIRD is not asked or does not answer
 * there are no peers; that they are unknown then, and not gone, both documents tell.
 */
#include "api/routes/view_bgp.h"

#include "api/document.h"
#include "api/view.h"
#include "status/bird_reach.h"

static void count_or_null(struct json *json, const char *key, int64_t count)
{
    if (count < 0)
        json_null(json, key);
    else
        json_int(json, key, count);
}

static void text_or_null(struct json *json, const char *key, const char *text)
{
    json_string(json, key, *text ? text : NULL);
}

static void write_peer(struct json *json, const struct bgp_peer *peer)
{
    json_begin_object(json, NULL);
    json_string(json, "name", peer->name);
    json_string(json, "address", peer->address);
    count_or_null(json, "asn", peer->asn ? (int64_t)peer->asn : -1);
    text_or_null(json, "state", peer->state);
    json_time(json, "since", peer->since_wall_ms);
    text_or_null(json, "bfd", peer->bfd);
    count_or_null(json, "received", peer->received);
    count_or_null(json, "announced", peer->announced);
    count_or_null(json, "filtered", peer->filtered);
    text_or_null(json, "lastError", peer->last_error);
    json_end_object(json);
}

void view_peers(const struct api_state *state, struct text *out)
{
    const struct bird_status *bird = &state->status->bird;
    struct json json = view_begin(out, "PeerList");

    json_bool(&json, "enabled", bird->socket);
    json_bool(&json, "reachable", bird->reachable);
    text_or_null(&json, "error", bird->error);
    json_begin_array(&json, "items");
    vec_each(const struct bgp_peer, peer, &bird->peers)
        write_peer(&json, peer);
    json_end_array(&json);
    view_end(&json);
}

static void write_families(struct json *json, const char *key, const int64_t counts[BGP_FAMILIES])
{
    json_begin_object(json, key);
    count_or_null(json, "ipv4", counts[BGP_IPV4]);
    count_or_null(json, "ipv6", counts[BGP_IPV6]);
    json_end_object(json);
}

void write_bgp(struct json *json, const struct bird_status *bird)
{
    json_begin_object(json, "bgp");
    json_bool(json, "enabled", bird->socket);
    json_string(json, "socket", bird->socket);
    json_bool(json, "reachable", bird->reachable);
    text_or_null(json, "error", bird->error);
    json_time(json, "since", bird->since_wall_ms);
    text_or_null(json, "version", bird->version);
    json_int(json, "peers", (int64_t)bird->peers.count);
    json_int(json, "established", (int64_t)bird_established(bird));
    json_int(json, "announced", bird_announced(bird));
    write_families(json, "learned", bird->learned);
    write_families(json, "expected", bird->expected);
    json_bool(json, "expectsNone", bird_expects_none(bird));
    json_bool(json, "unheard", bird_is_unheard(bird));
    json_bool(json, "overflowsHeard", bird->log_heard);
    json_int(json, "overflows", (int64_t)bird->overflows);
    json_end_object(json);
}

void write_reach(struct json *json, const struct bird_status *bird, const struct prefix *prefix,
                 bool wanted, bool installed)
{
    AUTOTEXT struct text why = { 0 };
    if (!wanted) {
        json_null(json, "reach");
        return;
    }
    const struct reach_of of = bird_reach(bird, prefix, installed);
    bird_reach_why(bird, prefix, &of, &why);
    json_begin_object(json, "reach");
    json_string(json, "state", reach_name(of.reach));
    json_string(json, "why", why.length ? text_str(&why) : NULL);
    json_int(json, "sent", (int64_t)of.sent);
    json_int(json, "meant", (int64_t)of.meant);
    json_end_object(json);
}

void write_peer_exports(struct json *json, const struct bird_status *bird,
                        const struct prefix *prefix, bool installed)
{
    json_begin_array(json, "peers");
    vec_each(const struct bgp_peer, peer, &bird->peers) {
        enum peer_export exported = peer_export_of(bird, peer, prefix);
        json_begin_object(json, NULL);
        json_string(json, "name", peer->name);
        json_string(json, "address", peer->address);
        if (installed && exported == PEER_UNKNOWN)
            json_null(json, "exported");
        else
            json_bool(json, "exported", installed && exported == PEER_EXPORTED);
        json_string(json, "reason", installed ? peer_export_name(exported) : "not-installed");
        json_string(json, "reasonText",
                    installed ? peer_export_text(exported) : "no route stands in BIRD's table");
        json_end_object(json);
    }
    json_end_array(json);
}
