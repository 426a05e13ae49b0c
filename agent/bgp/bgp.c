// SPDX-License-Identifier: Apache-2.0
/*
 * Turns BIRD's view into status and faults, after each poll of client/bird/bird.h.
 *
 * A configuration that names BIRD's socket expects BIRD to announce routes: a BIRD that can't be
 * queried is a fault, although the routes stay in the kernel. The state of its sessions is
 * discarded then, and their faults end.
 *
 * The number of routes that BIRD has learned and the number that the kernel has are never read at
 * the same instant. A difference is a fault once both numbers have stopped changing, or if the
 * numbers differ in every poll for some seconds. While that is undecided, BIRD is polled again
 * soon; likewise while a session has only just been started. An overflow in BIRD's log counts for
 * some minutes, because BIRD's next scan repairs the routes but not the configuration.
 */
#include "bgp/bgp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bgp/bgp_errors.h"
#include "bgp/bgp_faults.h"
#include "bgp/bgp_links.h"
#include "bgp/bgp_peer.h"
#include "detect/bgp.h"
#include "detect/detection.h"
#include "plan/link_table.h"
#include "plan/routes/route_table.h"

#define STANDS_MS   (3 * SECOND_MS / 4)
#define DIFFERS_MS  (5 * SECOND_MS)
#define OVERFLOW_MS (10 * MINUTE_MS)

/* Of a family: BIRD has learned another number of routes than the kernel has. Monotonic. */
struct difference {
    int64_t since_ms;        /* 0: there is none, or it is unknown */
    int64_t stands_since_ms; /* since then both numbers have not changed */
    int64_t learned, expected;
};

struct bgp {
    struct bgp_options options;
    struct bird_client *client; /* NULL: BIRD is not queried */
    char *socket;
    uint32_t table;
    bgp_error_list errors;
    bgp_link_list links;
    struct difference differences[BGP_FAMILIES];
    struct detection sessions, none; /* of the detectors of these names */
    struct difference hidden;        /* of the routes that all sessions together should send */
    uint64_t operations;             /* of the passes so far */
    bool was_reachable;
};

static void fill_peer(const struct bird_session *session, struct bgp_peer *peer)
{
    bgp_peer_of(&session->protocol, peer);
    peer->since_wall_ms = session->since_wall_ms;
    peer->exported = session->exported;
    peer->filtered = session->filtered;
    peer->listed = session->listed;
    memcpy(peer->bfd, session->bfd, sizeof(peer->bfd));
}

static int add_peer(struct bird_status *bird, const struct bird_session *session)
{
    struct bgp_peer peer;
    fill_peer(session, &peer);
    int r = vec_reserve(&peer.networks, session->networks.count);
    if (r == 0)
        r = vec_push(&bird->peers, peer);
    if (r < 0) {
        vec_done(&peer.networks);
        return r;
    }
    struct bgp_peer *added = &bird->peers.items[bird->peers.count - 1];
    vec_each(const struct prefix, network, &session->networks)
        added->networks.items[added->networks.count++] = *network;
    return 0;
}

/* Our routes in the table that BIRD reads, by family. */
static void count_expected(const struct bgp *bgp, int64_t expected[BGP_FAMILIES])
{
    const struct sorted *installed = bgp->options.installed;
    const struct route key = { .table = bgp->table };
    expected[BGP_IPV4] = expected[BGP_IPV6] = 0;
    for (size_t i = sorted_lower_bound(installed, &key); i < installed->count; i++) {
        const struct route *route = sorted_at(installed, i);
        if (route->table != bgp->table)
            return;
        if (route_is_ours(route, bgp->table))
            expected[route->prefix.ip.family == IP_V4 ? BGP_IPV4 : BGP_IPV6]++;
    }
}

static bool is_own(const struct sorted *addresses, const struct ip *ip)
{
    sorted_each(const struct link_address, address, addresses) {
        if (ip_equal(&address->ip, ip))
            return true;
    }
    return false;
}

/* Link-local addresses are not in the table; a table without any address is not read yet. */
static void find_strange_next_hop(const struct sorted *addresses,
                                  const struct bird_session *session, struct bgp_peer *peer)
{
    for (int family = 0; family < BGP_FAMILIES; family++) {
        const struct ip *hop = &session->protocol.channels[family].next_hop;
        if (addresses->count && peer->established && peer->exports[family] &&
            hop->family != IP_NONE && !ip_is_special(hop) && !is_own(addresses, hop))
            peer->strange_next_hop = *hop;
    }
}

static int fill_status(struct bgp *bgp, const struct bird_view *view)
{
    struct bird_status *bird = &bgp->options.status->bird;
    bird_status_clear(bird);
    bird->reachable = view->reachable;
    bird->since_wall_ms = view->since_wall_ms;
    memcpy(bird->error, view->error, sizeof(bird->error));
    memcpy(bird->version, view->facts.version, sizeof(bird->version));
    memcpy(bird->learned, view->facts.learned, sizeof(bird->learned));
    memcpy(bird->kernel_down, view->facts.kernel_down, sizeof(bird->kernel_down));
    memcpy(bird->kernel_refuses, view->facts.kernel_refuses, sizeof(bird->kernel_refuses));
    memcpy(bird->kernel_limited, view->facts.kernel_limited, sizeof(bird->kernel_limited));
    memcpy(bird->device_down, view->facts.device_down, sizeof(bird->device_down));
    count_expected(bgp, bird->expected);
    bird->log_heard = view->log_heard;
    bird->overflows = view->overflows;
    int r = 0;
    for (size_t i = 0; i < view->facts.sessions.count && r == 0; i++) {
        r = add_peer(bird, &view->facts.sessions.items[i]);
        if (r == 0)
            find_strange_next_hop(bgp->options.addresses, &view->facts.sessions.items[i],
                                  &bird->peers.items[i]);
    }
    bgp_errors_remember(&bgp->errors, bird);
    bgp_links_follow(&bgp->links, bird, bgp->options.links, bgp->options.addresses);
    return r;
}

static void report(struct bgp *bgp, const char *group, const struct faults *faults)
{
    (void)fault_book_replace(bgp->options.status->faults, "bgp", group, faults, clock_wall_ms());
}

/* Records another pair of numbers. Returns true if they differ and have differed for a while. */
static bool has_lasted(struct difference *difference, int64_t learned, int64_t expected,
                       int64_t now_ms)
{
    if (learned < 0 || learned == expected) {
        difference->since_ms = 0;
        return false;
    }
    bool begins = difference->since_ms == 0;
    if (begins)
        difference->since_ms = now_ms;
    if (begins || learned != difference->learned || expected != difference->expected) {
        difference->learned = learned;
        difference->expected = expected;
        difference->stands_since_ms = now_ms;
    }
    return now_ms - difference->since_ms >= DIFFERS_MS ||
           now_ms - difference->stands_since_ms >= STANDS_MS;
}

/* Returns true if any family differs; a difference that lasts for a while is a fault. */
static bool report_learned(struct bgp *bgp, const struct bird_status *bird, int64_t now_ms,
                           bool *undecided)
{
    AUTOFAULTS struct faults faults = { 0 };
    bool lasting[BGP_FAMILIES] = { false }, any = false;
    for (int family = 0; family < BGP_FAMILIES; family++) {
        struct difference *difference = &bgp->differences[family];
        lasting[family] =
            has_lasted(difference, bird->learned[family], bird->expected[family], now_ms);
        any |= difference->since_ms != 0;
        *undecided |= difference->since_ms != 0 && !lasting[family];
    }
    bgp_learned_faults(bird, lasting, bgp->table, &faults);
    report(bgp, "learned", &faults);
    return any;
}

/* Routes that BIRD withholds from a session without a filter. A single poll proves nothing. */
static void report_hidden(struct bgp *bgp, const struct bird_status *bird, int64_t now_ms,
                          bool *undecided)
{
    AUTOFAULTS struct faults faults = { 0 };
    int64_t hidden = 0;
    vec_each(const struct bgp_peer, peer, &bird->peers)
        hidden += bird_hidden(bird, peer);
    bool lasting = has_lasted(&bgp->hidden, hidden, 0, now_ms);
    *undecided |= hidden > 0 && !lasting;
    bgp_kept_faults(bird, lasting, bgp->table, &faults);
    report(bgp, "kept", &faults);
}

/* Reports faults of BIRD itself (NULL: none) instead of all faults of its sessions and routes. A
 * fault that persists is not cleared meanwhile. */
static void report_alone(struct bgp *bgp, const struct faults *silence)
{
    static const char *const groups[] = { "sessions", "exports", "filters",
                                          "kept",     "learned", "overflow" };
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        report(bgp, groups[i], NULL);
    report(bgp, "silence", silence);
    memset(bgp->differences, 0, sizeof(bgp->differences));
    bgp->hidden = (struct difference){ 0 };
    detection_done(&bgp->sessions);
    detection_done(&bgp->none);
}

static void report_silence(struct bgp *bgp)
{
    AUTOFAULTS struct faults faults = { 0 };
    bgp_silence_faults(&bgp->options.status->bird, &faults);
    report_alone(bgp, &faults);
}

/* Runs a detector, and adds the faults that hold; without memory, those that held before. */
static void judge(struct detection *detection, const char *name, const struct detector_facts *facts,
                  int64_t now_ms, struct faults *faults)
{
    (void)detection_run(detection, detector_find(name), facts, now_ms);
    detection_report(detection, faults);
}

static void report_faults(struct bgp *bgp, const struct bird_view *view)
{
    const struct bird_status *bird = &bgp->options.status->bird;
    AUTOFAULTS struct faults silence = { 0 };
    AUTOFAULTS struct faults sessions = { 0 }, exports = { 0 }, filters = { 0 }, overflows = { 0 };
    int64_t now_ms = clock_mono_ms();
    if (bgp_version_faults(bird, &silence)) {
        report_alone(bgp, &silence);
        return;
    }
    const struct detector_facts facts = { .bird = bird, .wall_ms = clock_wall_ms() };
    bool undecided = bgp_sessions_may_come_up(&facts);
    judge(&bgp->sessions, "bgp-sessions", &facts, now_ms, &sessions);
    judge(&bgp->none, "bgp-none", &facts, now_ms, &exports);
    bgp_filter_faults(bird, bgp->options.installed, bgp->table, &filters);
    bgp_export_faults(bird, bgp->table, &exports);
    if (access(bgp->socket, F_OK) < 0 && errno == ENOENT)
        bgp_socket_faults(bird, &silence);
    report(bgp, "silence", &silence);
    report(bgp, "sessions", &sessions);
    report(bgp, "exports", &exports);
    report(bgp, "filters", &filters);
    report_hidden(bgp, bird, now_ms, &undecided);
    bool differs = report_learned(bgp, bird, now_ms, &undecided);
    if (view->overflows > 0 && (differs || now_ms - view->last_overflow_mono_ms < OVERFLOW_MS))
        bgp_overflow_faults(&overflows);
    report(bgp, "overflow", &overflows);
    if (undecided)
        bird_client_poll_soon(bgp->client);
}

static void log_change(struct bgp *bgp, const struct bird_view *view)
{
    if (view->reachable && !bgp->was_reachable)
        log_info("BIRD %s answers at %s", view->facts.version, bgp->socket);
    else if (!view->reachable)
        log_warning("%s", view->error);
    bgp->was_reachable = view->reachable;
}

static void on_bird(void *context)
{
    struct bgp *bgp = context;
    const struct bird_view *view = bird_client_view(bgp->client);
    log_change(bgp, view);
    int r = fill_status(bgp, view);
    if (r < 0)
        log_warning("no memory to keep what BIRD says");
    else if (view->reachable)
        report_faults(bgp, view);
    else
        report_silence(bgp);
    bgp->options.changed(bgp->options.context);
}

static void close_client(struct bgp *bgp)
{
    bird_client_free(bgp->client);
    bgp->client = NULL;
    bgp->was_reachable = false;
    bgp->options.status->bird.socket = NULL;
    bird_status_clear(&bgp->options.status->bird);
    report_alone(bgp, NULL);
    free(bgp->socket);
    bgp->socket = NULL;
}

int bgp_configure(struct bgp *bgp, const struct config *config)
{
    const char *path = config->bird.socket;
    bgp->table = config->routes.table;
    bgp->options.status->bird.expect = (struct peer_expectation){
        .set = config->bird.expect_set,
        .count = config->bird.expect_count,
        .names = (const char *const *)config->bird.expect_names.items,
        .name_count = config->bird.expect_names.count,
    };
    if (path && bgp->socket && strcmp(path, bgp->socket) == 0)
        return 0;
    close_client(bgp);
    if (!path)
        return 0;
    bgp->socket = strdup(path);
    if (!bgp->socket)
        return -ENOMEM;
    bgp->options.status->bird.socket = bgp->socket;
    const struct bird_options options = {
        .event = bgp->options.event,
        .socket = path,
        .timing = bgp->options.timing,
        .changed = on_bird,
        .context = bgp,
    };
    return bird_client_new(&options, &bgp->client);
}

void bgp_passed(struct bgp *bgp)
{
    const struct route_status *routes = &bgp->options.status->routes;
    uint64_t operations = routes->added + routes->replaced + routes->deleted;
    if (operations == bgp->operations || !bgp->client)
        return;
    bgp->operations = operations;
    bird_client_poll_soon(bgp->client);
}

int bgp_new(const struct bgp_options *options, struct bgp **ret_bgp)
{
    struct bgp *bgp = calloc(1, sizeof(*bgp));
    if (!bgp)
        return -ENOMEM;
    bgp->options = *options;
    bird_status_clear(&options->status->bird);
    *ret_bgp = bgp;
    return 0;
}

void bgp_free(struct bgp *bgp)
{
    if (!bgp)
        return;
    bird_client_free(bgp->client);
    bgp->options.status->bird.socket = NULL;
    bird_status_clear(&bgp->options.status->bird);
    detection_done(&bgp->sessions);
    detection_done(&bgp->none);
    vec_done(&bgp->errors);
    vec_done(&bgp->links);
    free(bgp->socket);
    free(bgp);
}
