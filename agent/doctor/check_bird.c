// SPDX-License-Identifier: Apache-2.0
/*
 * BIRD, as far as its control socket tells: that it runs, has the tables and the filter of
 * birdconf/fingerpost.conf, reads our kernel table, and has sessions that send what is there. The
 * kernel tells how much room its notifications have at BIRD's.
 *
 * What the fabric's router makes of it can't be seen from here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "bgp/bgp_peer.h"
#include "client/bird/bird_parse.h"
#include "doctor/ask_bird.h"
#include "doctor/bird_buffer.h"
#include "doctor/bird_unit.h"
#include "doctor/visit.h"
#include "model/services/service.h"

enum { YOUNG_MS = 30000, PAUSE_MS = 200, BUFFER_WANTED = 8 << 20, CODE_DENIED = 8007 };

#define INCLUDE_REMEDY \
    "include \"fingerpost.conf\" behind the four defines (agentctl setup prints them); birdc configure"

static const char *const tables[BIRD_FAMILIES] = { "fingerpost4", "fingerpost6" };

static bool wants_bird(struct visit *visit)
{
    if (visit->config && visit->config->bird.socket)
        return true;
    if (visit->config)
        visit_skip(visit, "bird.socket is not set: BIRD is not asked");
    else
        visit_skip(visit, "no configuration");
    return false;
}

static int open_bird(const struct visit *visit, struct bird_asker **ret_asker)
{
    return bird_asker_open(visit->config->bird.socket, visit->timeout_ms, ret_asker);
}

static const char *socket_remedy(int error)
{
    switch (error) {
    case -ENOENT:
        return "start BIRD (systemctl start bird), or name its socket in bird.socket; BIRD's "
               "option -s says where it is";
    case -ECONNREFUSED:
        return "BIRD has ended: systemctl restart bird; see: journalctl -u bird";
    case -EACCES:
        return "let agentd's user into the group of the socket (usermod -aG bird fingerpost)";
    case -ETIMEDOUT:
    case -EAGAIN:
        return "BIRD hangs: see journalctl -u bird; systemctl restart bird";
    default:
        return "see what listens there: ss -xlp";
    }
}

static void check_socket(struct visit *visit)
{
    CLEANUP(bird_asker_closep) struct bird_asker *asker = NULL;
    const struct bird_reply *reply;
    struct bird_server server = { 0 };
    unsigned major = 0, minor = 0, patch = 0;

    if (visit->config && visit->config->routes.enabled && !visit->config->bird.socket) {
        visit_warn(visit,
                   "start BIRD, then: agentctl setup --write; or name its socket in bird.socket",
                   "bird.socket is not set: BIRD is not asked, and nobody tells whether peers get "
                   "this node's routes");
        return;
    }
    if (!wants_bird(visit))
        return;
    int r = open_bird(visit, &asker);
    r = r < 0 ? r : bird_ask(asker, "show status", &reply);
    if (r < 0) {
        visit_fail(visit, socket_remedy(r), "%s: %s", visit->config->bird.socket, strerror(-r));
        return;
    }
    bird_parse_status(reply, &server);
    if (sscanf(server.version, "%u.%u.%u", &major, &minor, &patch) < 2)
        (void)bird_parse_greeting(reply, &server);
    if (sscanf(server.version, "%u", &major) == 1 && major < 2)
        visit_fail(visit, "use BIRD 2.0.8 or later (apt install bird2), or name its socket",
                   "BIRD %s is too old: it has no tables for both families", server.version);
    else if (major == 2 && minor == 0 && patch && patch < 8)
        visit_warn(visit, "use BIRD 2.0.8 or later", "BIRD %s", server.version);
    else
        visit_good(visit, "BIRD %s", server.version);
}

/*
 * What `birdc configure` and a restart would make of the files as they are now: BIRD goes on with
 * what it has read last, and nothing is to be seen of an edit that it refused.
 */
static void check_files(struct visit *visit)
{
    CLEANUP(bird_asker_closep) struct bird_asker *asker = NULL;
    const struct bird_reply *reply;

    if (!wants_bird(visit))
        return;
    if (open_bird(visit, &asker) < 0 || bird_ask(asker, "configure check", &reply) < 0) {
        visit_skip(visit, "BIRD does not answer");
        return;
    }
    if (bird_reply_code(reply) == CODE_DENIED)
        visit_skip(visit, "BIRD lets nobody configure it here");
    else if (!bird_reply_ok(reply))
        visit_fail(visit, "mend that line; birdc configure check; birdc configure",
                   "BIRD goes on with what it read before, and does not start anew with: %s",
                   bird_reply_last(reply));
}

static void check_include(struct visit *visit)
{
    static const char *const names[] = {
        "fingerpost4",           "fingerpost6",      "fingerpost_export",
        "fingerpost_attributes", "fingerpost_class",
    };
    CLEANUP(bird_asker_closep) struct bird_asker *asker = NULL;
    AUTOTEXT struct text missing = { 0 };

    if (!wants_bird(visit))
        return;
    if (open_bird(visit, &asker) < 0) {
        visit_skip(visit, "BIRD does not answer");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (!bird_has_symbol(asker, names[i]))
            text_addf(&missing, "%s%s", missing.length ? ", " : "", names[i]);
    if (missing.length)
        visit_fail(visit, INCLUDE_REMEDY, "BIRD does not know %s", text_str(&missing));
}

static int ask_protocols(struct bird_asker *asker, bird_protocol_list *list, int64_t *ret_now_ms)
{
    struct bird_server server = { .now_ms = -1 };
    const struct bird_reply *reply;

    int r = bird_ask(asker, "show status", &reply);
    if (r < 0)
        return r;
    bird_parse_status(reply, &server);
    *ret_now_ms = server.now_ms;
    r = bird_ask(asker, "show protocols all", &reply);
    return r < 0 ? r : bird_parse_protocols(reply, server.now_ms, list);
}

/* If a session may still come up by itself: doctor is asked right after `birdc configure`. */
static bool is_settling(const bird_protocol_list *list, int64_t now_ms)
{
    vec_each(const struct bird_protocol, protocol, list)
        if (strcmp(protocol->kind, "BGP") == 0 && strcmp(protocol->state, "start") == 0 &&
            protocol->since_ms >= 0 && now_ms - protocol->since_ms < YOUNG_MS)
            return true;
    return false;
}

/*
 * BIRD's BGP and kernel protocols; false after saying why there are none. A session that began a
 * moment ago gets the time of an answer to come up.
 */
static bool protocols_of(struct visit *visit, bird_protocol_list *list)
{
    const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
    const int64_t deadline_ms = clock_mono_ms() + visit->timeout_ms;
    CLEANUP(bird_asker_closep) struct bird_asker *asker = NULL;
    int64_t now_ms;

    if (!wants_bird(visit))
        return false;
    int r = open_bird(visit, &asker);
    while (r == 0 && (r = ask_protocols(asker, list, &now_ms)) == 0) {
        if (!is_settling(list, now_ms) || clock_mono_ms() >= deadline_ms)
            return true;
        vec_done(list);
        *list = (bird_protocol_list){ 0 };
        (void)nanosleep(&pause, NULL);
    }
    visit_skip(visit, "BIRD does not answer");
    return false;
}

/* How many of our routes the kernel's table has. */
static int64_t routes_of(const struct visit *visit, uint8_t family)
{
    int64_t count = 0;
    sorted_each(const struct route, route, kernel_routes(visit->kernel))
        count += route->table == visit->config->routes.table && route->prefix.ip.family == family &&
                 route_is_ours(route, visit->config->routes.table);
    return count;
}

static void check_learning(struct visit *visit, const bird_protocol_list *list,
                           enum bird_family family)
{
    const int64_t routes = routes_of(visit, family == BIRD_IPV4 ? IP_V4 : IP_V6);

    vec_each(const struct bird_protocol, protocol, list) {
        const struct bird_channel *channel = &protocol->channels[family];
        if (strcmp(protocol->kind, "Kernel") != 0 || !channel->present ||
            strcmp(channel->table, tables[family]) != 0)
            continue;
        AUTOFREE char *enable = text_format("birdc enable %s", protocol->name);
        if (strcmp(protocol->state, "up") != 0)
            visit_fail(visit, enable, "kernel protocol %s is %s", protocol->name, protocol->state);
        else if (routes > 0 && channel->imported == 0)
            visit_fail(visit,
                       "give it `learn;` and `kernel table` as routes.table says "
                       "(FINGERPOST_TABLE); birdc configure",
                       "%s has learned none of %lld routes of table %u", protocol->name,
                       (long long)routes, visit->config->routes.table);
        return;
    }
    visit_fail(visit, INCLUDE_REMEDY, "no kernel protocol fills table %s", tables[family]);
}

static void check_kernel(struct visit *visit)
{
    AUTOVEC bird_protocol_list list = { 0 };
    if (!protocols_of(visit, &list))
        return;
    check_learning(visit, &list, BIRD_IPV4);
    check_learning(visit, &list, BIRD_IPV6);
}

static void check_buffer(struct visit *visit)
{
    CLEANUP(bird_asker_closep) struct bird_asker *asker = NULL;
    uint32_t bytes;

    if (!wants_bird(visit))
        return;
    if (open_bird(visit, &asker) < 0) {
        visit_skip(visit, "BIRD does not answer");
        return;
    }
    int r = bird_buffer_read(bird_asker_pid(asker), &bytes);
    if (r < 0)
        visit_skip(visit, r == -EACCES ? "only root sees BIRD's sockets"
                                       : "BIRD's sockets can't be seen from here");
    else if (bytes < BUFFER_WANTED)
        visit_warn(
            visit,
            "give BIRD's kernel protocols `netlink rx buffer 67108864;` (fingerpost.conf has "
            "it), then: systemctl restart bird",
            "%u bytes: many routes at once are partly lost until the next scan", bytes);
    else
        visit_good(visit, "%u MiB", bytes >> 20);
}

/* Whether BIRD has told some peer that its routes are to be kept while it restarts. */
static bool restarts_gracefully(struct bird_asker *asker)
{
    const struct bird_reply *reply;
    bool is_local = false;
    if (bird_ask(asker, "show protocols all", &reply) < 0)
        return false;
    vec_each(const struct bird_line, line, &reply->lines) {
        const char *text = bird_reply_text(reply, line);
        if (strstr(text, "Local capabilities"))
            is_local = true;
        else if (strstr(text, "Neighbor capabilities"))
            is_local = false;
        else if (is_local && strstr(text, "Restart time:"))
            return true;
    }
    return false;
}

static void check_restart(struct visit *visit)
{
    CLEANUP(bird_asker_closep) struct bird_asker *asker = NULL;
    char unit[BIRD_UNIT_LEN];

    if (!wants_bird(visit))
        return;
    if (open_bird(visit, &asker) < 0) {
        visit_skip(visit, "BIRD does not answer");
        return;
    }
    int r = bird_unit_withdraws(bird_asker_pid(asker), unit);
    if (r < 0)
        visit_skip(visit, "no unit of systemd runs BIRD");
    else if (r == 0)
        visit_good(visit, "%s asks BIRD for a graceful restart", unit);
    else if (restarts_gracefully(asker))
        visit_warn(
            visit, bird_unit_remedy(unit),
            "a restart of %s, as an upgrade of its package makes it, withdraws all routes for "
            "some seconds, although sessions have graceful restart",
            unit);
    else
        visit_skip(visit, "no session has `graceful restart on`: a restart of BIRD withdraws all");
}

/* A bit for each family of which the session carries our table; what it does not send is said. */
static unsigned check_channels(struct visit *visit, const struct bird_protocol *session)
{
    unsigned ours = 0;
    for (int family = 0; family < BIRD_FAMILIES; family++) {
        const struct bird_channel *channel = &session->channels[family];
        if (!channel->present || strcmp(channel->table, tables[family]) != 0)
            continue;
        ours |= 1U << family;
        if (!channel->exports)
            visit_fail(visit,
                       "give its channel `export filter fingerpost_export;`; birdc configure",
                       "%s exports nothing of %s", session->name, tables[family]);
    }
    return ours;
}

static bool has_prefix(const prefix_list *prefixes, uint8_t family)
{
    vec_each(const struct prefix, prefix, prefixes) {
        if (prefix->ip.family == family)
            return true;
    }
    return false;
}

/* Whether a Service of the manifests has an address of the family that is not internal. */
static bool is_asked_for(const struct visit *visit, uint8_t family)
{
    const struct object *object;
    size_t cursor = 0;
    while (visit->store && (object = store_next(visit->store, KIND_SERVICE, &cursor))) {
        const struct service *service = to_service(object);
        for (uint32_t i = 0; i < service->address_count; i++) {
            if (service->addresses[i].ip.family == family &&
                service->addresses[i].origin != ADDRESS_CLUSTER)
                return true;
        }
    }
    return false;
}

/* Families that have routes, or will have by what is written down, and that no session exports. */
static void check_families(struct visit *visit, unsigned exported)
{
    static const uint8_t families[] = { IP_V4, IP_V6 };
    static const int versions[] = { 4, 6 };
    for (int i = 0; i < BIRD_FAMILIES; i++) {
        const struct config *config = visit->config;
        if (exported & 1U << i ||
            !(routes_of(visit, families[i]) > 0 || is_asked_for(visit, families[i]) ||
              has_prefix(&config->services.cluster_cidrs, families[i])))
            continue;
        AUTOFREE char *remedy = text_format(
            "give a session to a router of that family the channel ipv%d { table %s; import none; "
            "export filter fingerpost_export; next hop self; }; birdc configure",
            versions[i], tables[i]);
        visit_warn(visit, remedy,
                   "no session exports IPv%d: this node's routes of it are announced to nobody",
                   versions[i]);
    }
}

static bool is_session(const struct bird_protocol *protocol)
{
    return strcmp(protocol->kind, "BGP") == 0 && !protocol->listens;
}

/* Whether nobody is to be told, as configured. */
static bool expects_none(const struct config *config)
{
    return config->bird.expect_set && config->bird.expect_count == 0 &&
           config->bird.expect_names.count == 0;
}

/* The sessions as detectors want them. Those that began a moment ago had their time: of none is
 * known since when its state is. */
static int fill_status(const struct config *config, const bird_protocol_list *list,
                       struct bird_status *bird)
{
    bird->expect = (struct peer_expectation){
        .set = config->bird.expect_set,
        .count = config->bird.expect_count,
        .names = (const char *const *)config->bird.expect_names.items,
        .name_count = config->bird.expect_names.count,
    };
    vec_each(const struct bird_protocol, protocol, list) {
        struct bgp_peer peer;
        if (strcmp(protocol->kind, "Device") == 0 && strcmp(protocol->state, "down") == 0)
            memcpy(bird->device_down, protocol->name, sizeof(bird->device_down));
        if (!is_session(protocol))
            continue;
        bgp_peer_of(protocol, &peer);
        int r = vec_push(&bird->peers, peer);
        if (r < 0)
            return r;
    }
    return 0;
}

static void detect_sessions(struct visit *visit, const bird_protocol_list *list)
{
    CLEANUP(bird_status_clear) struct bird_status bird = { 0 };
    const struct detector_facts facts = { .bird = &bird };
    int r = fill_status(visit->config, list, &bird);
    if (r < 0)
        visit->error = r;
    (void)visit_detect(visit, detector_find("bgp-sessions"), &facts, "");
    (void)visit_detect(visit, detector_find("bgp-none"), &facts, "");
}

static void check_sessions(struct visit *visit)
{
    AUTOVEC bird_protocol_list list = { 0 };
    AUTOTEXT struct text names = { 0 };
    unsigned ours = 0;
    int64_t sessions = 0;

    if (!protocols_of(visit, &list))
        return;
    size_t before = visit->findings->list.count;
    vec_each(const struct bird_protocol, protocol, &list) {
        if (!is_session(protocol))
            continue;
        sessions++;
        text_addf(&names, "%s%s", names.length ? ", " : "", protocol->name);
        ours |= check_channels(visit, protocol);
    }
    detect_sessions(visit, &list);
    if (expects_none(visit->config))
        ours = ~0U;
    if (sessions && !ours)
        visit_fail(visit,
                   "give a channel `table fingerpost4; export filter fingerpost_export; next hop "
                   "self;`; birdc configure",
                   "no session has table fingerpost4 or fingerpost6: nothing is announced");
    if (ours)
        check_families(visit, ours);
    if (visit->findings->list.count == before)
        visit_good(visit, "%s", text_str(&names));
}

const struct check bird_checks[] = {
    { "bird.socket", "BIRD", "it answers, 2.0.8 or later", check_socket },
    { "bird.files", "BIRD's configuration", "its files as they are now can be read", check_files },
    { "bird.include", "BIRD's include", "the tables and filters of fingerpost.conf",
      check_include },
    { "bird.kernel", "BIRD's kernel protocols", "both up, and learning our table", check_kernel },
    { "bird.buffer", "BIRD's netlink buffer", "8 MiB or more, for many routes at once",
      check_buffer },
    { "bird.restart", "BIRD's restart", "keeps the routes at the peers", check_restart },
    { "bird.session", "BGP sessions", "established, sending our tables", check_sessions },
    { NULL },
};
