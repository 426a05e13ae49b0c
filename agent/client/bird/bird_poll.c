// SPDX-License-Identifier: Apache-2.0
/*
 * The commands sent to BIRD, their order, and what the replies add to the facts. bird.c owns the
 * connection and the clock; there is no system call here, so that a test can simulate BIRD.
 *
 *   greeting, restrict, echo | status, protocols, BFD, learned*, exported*, filtered*, list* | idle
 *
 * The part between the bars is a poll. Steps with a star run once for each kernel or BGP protocol,
 * and only if the stamp has changed. After a refusal (codes from 8000 on) the value is unknown:
 * other releases have other commands, and a session may go down between two commands.
 *
 * `echo` makes BIRD repeat its log on our connection as "+" lines: warnings, messages about its
 * peers (remote), and changes by an operator (info). 2.0.12 does so under `restrict` too, and
 * inserts them between the lines of a reply.
 */
#include "client/bird/bird_poll.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/ours.h"

/* Routes of the kernel that carry one of our protocol numbers, as ours_exported_set() has them. */
#define OURS "where source = RTS_INHERIT && krt_source ~ %s"

void bird_facts_clear(struct bird_facts *facts)
{
    vec_each(struct bird_session, session, &facts->sessions)
        vec_done(&session->networks);
    vec_done(&facts->sessions);
    *facts = (struct bird_facts){ .learned = { -1, -1 } };
}

static int on_greeting(struct bird_poll *poll, const struct bird_reply *reply)
{
    return bird_parse_greeting(reply, &poll->server);
}

static int on_echo(struct bird_poll *poll, const struct bird_reply *reply)
{
    poll->log_heard = bird_reply_ok(reply);
    return 0;
}

/* BIRD runs on this machine, with the same clock: both differ only by a time zone. */
static int on_status(struct bird_poll *poll, const struct bird_reply *reply)
{
    bird_parse_status(reply, &poll->server);
    bird_facts_clear(&poll->facts);
    memcpy(poll->facts.version, poll->server.version, sizeof(poll->facts.version));
    int64_t ahead_ms = poll->wall_ms - poll->server.now_ms;
    int64_t half_ms = ahead_ms < 0 ? -MINUTE_MS / 2 : MINUTE_MS / 2;
    poll->zone_ms = (ahead_ms + half_ms) / MINUTE_MS * MINUTE_MS;
    return 0;
}

static int add_session(struct bird_poll *poll, const struct bird_protocol *protocol)
{
    struct bird_session session = { .protocol = *protocol, .exported = -1, .filtered = -1 };
    if (protocol->since_ms >= 0 && poll->server.now_ms >= 0)
        session.since_wall_ms = protocol->since_ms + poll->zone_ms;
    return vec_push(&poll->facts.sessions, session);
}

/* A protocol that an operator has disabled: it is down, and nothing failed. */
static bool is_disabled(const struct bird_protocol *protocol)
{
    return strcmp(protocol->state, "down") == 0;
}

/* A kernel protocol of our tables that imports no routes. */
static void note_kernel(struct bird_facts *facts, const struct bird_protocol *kernel)
{
    static const char *const tables[] = {
        [BIRD_IPV4] = "fingerpost4", [BIRD_IPV6] = "fingerpost6"
    };
    for (int family = 0; family < BIRD_FAMILIES; family++) {
        const struct bird_channel *channel = &kernel->channels[family];
        if (!channel->present || strcmp(channel->table, tables[family]) != 0)
            continue;
        if (channel->import_limited)
            memcpy(facts->kernel_limited[family], kernel->name, sizeof(kernel->name));
        if (is_disabled(kernel))
            memcpy(facts->kernel_down[family], kernel->name, sizeof(kernel->name));
        else if (channel->refuses)
            memcpy(facts->kernel_refuses[family], kernel->name, sizeof(kernel->name));
    }
}

static int note_protocol(struct bird_poll *poll, const struct bird_protocol *protocol)
{
    if (strcmp(protocol->kind, "BGP") == 0)
        return add_session(poll, protocol);
    if (strcmp(protocol->kind, "Kernel") == 0) {
        note_kernel(&poll->facts, protocol);
        return vec_push(&poll->kernels, *protocol);
    }
    if (is_disabled(protocol))
        memcpy(poll->facts.device_down, protocol->name, sizeof(protocol->name));
    return 0;
}

static uint64_t mix(uint64_t stamp, uint64_t value)
{
    stamp = (stamp ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return stamp ^ stamp >> 32;
}

static uint64_t mix_text(uint64_t stamp, const char *text)
{
    for (; *text; text++)
        stamp = mix(stamp, (uint8_t)*text);
    return stamp;
}

static bool has_channel(const struct bird_protocol *protocol)
{
    return protocol->channels[BIRD_IPV4].present || protocol->channels[BIRD_IPV6].present;
}

/* Of everything that affects routes. 0 if a protocol that is up does not count its changes. */
static uint64_t stamp_of(const struct bird_server *server, const bird_protocol_list *list)
{
    uint64_t stamp = mix_text(1, server->configured);
    vec_each(const struct bird_protocol, protocol, list) {
        if (strcmp(protocol->state, "up") == 0 && has_channel(protocol) && protocol->stamp == 0)
            return 0;
        stamp = mix_text(stamp, protocol->name);
        stamp = mix_text(stamp, protocol->state);
        stamp = mix(stamp, (uint64_t)protocol->since_ms);
        stamp = mix(stamp, protocol->stamp);
    }
    return stamp;
}

/* The stamp is equal, so the sessions are the same. */
static int keep_routes(struct bird_poll *poll, const struct bird_facts *before)
{
    memcpy(poll->facts.learned, before->learned, sizeof(before->learned));
    for (size_t i = 0; i < poll->facts.sessions.count; i++) {
        struct bird_session *session = &poll->facts.sessions.items[i];
        const struct bird_session *old = &before->sessions.items[i];
        session->exported = old->exported;
        session->filtered = old->filtered;
        session->listed = old->listed;
        vec_each(const struct prefix, network, &old->networks) {
            int r = vec_push(&session->networks, *network);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int on_protocols(struct bird_poll *poll, const struct bird_reply *reply)
{
    AUTOVEC bird_protocol_list list = { 0 };
    int r = bird_parse_protocols(reply, poll->server.now_ms, &list);
    vec_clear(&poll->kernels);
    poll->facts.learned[BIRD_IPV4] = poll->facts.learned[BIRD_IPV6] = 0;
    if (r < 0)
        return r;
    vec_each(const struct bird_protocol, protocol, &list) {
        if (protocol->listens)
            continue;
        r = note_protocol(poll, protocol);
        if (r < 0)
            return r;
    }
    const struct bird_facts *before = poll->before;
    poll->facts.stamp = stamp_of(&poll->server, &list);
    poll->brief = before && poll->facts.stamp != 0 && before->stamp == poll->facts.stamp &&
                  before->sessions.count == poll->facts.sessions.count;
    return poll->brief ? keep_routes(poll, before) : 0;
}

static int on_bfd(struct bird_poll *poll, const struct bird_reply *reply)
{
    vec_clear(&poll->bfd);
    int r = bird_parse_bfd(reply, &poll->bfd);
    vec_each(struct bird_session, session, &poll->facts.sessions) {
        char neighbor[sizeof(session->protocol.neighbor)];
        struct ip address;
        memcpy(neighbor, session->protocol.neighbor, sizeof(neighbor));
        neighbor[strcspn(neighbor, "%")] = '\0'; /* fe80::1%eth0 */
        if (ip_parse(neighbor, &address) < 0)
            continue;
        vec_each(const struct bird_bfd, bfd, &poll->bfd) {
            if (ip_equal(&bfd->address, &address))
                memcpy(session->bfd, bfd->state, sizeof(session->bfd));
        }
    }
    return r;
}

static int on_learned(struct bird_poll *poll, const struct bird_reply *reply)
{
    const struct bird_protocol *kernel = &poll->kernels.items[poll->index];
    enum bird_family family = kernel->channels[BIRD_IPV4].present ? BIRD_IPV4 : BIRD_IPV6;
    int64_t *learned = &poll->facts.learned[family], count;
    if (bird_parse_count(reply, &count) < 0)
        *learned = -1;
    else if (*learned >= 0 && __builtin_add_overflow(*learned, count, learned))
        *learned = -1;
    return 0;
}

/* BIRD refuses the command for a session that has gone down meanwhile: unknown. */
static int on_exported(struct bird_poll *poll, const struct bird_reply *reply)
{
    (void)bird_parse_count(reply, &poll->facts.sessions.items[poll->index].exported);
    return 0;
}

static int on_filtered(struct bird_poll *poll, const struct bird_reply *reply)
{
    struct bird_session *session = &poll->facts.sessions.items[poll->index];
    if (bird_parse_count(reply, &session->filtered) == 0)
        session->listed = session->filtered == 0;
    return 0;
}

/* Networks of a family that is not exported by configuration do not count as filtered. */
static void drop_unexported(struct bird_session *session)
{
    const struct bird_channel *channels = session->protocol.channels;
    size_t kept = 0;
    vec_each(const struct prefix, network, &session->networks) {
        enum bird_family family = network->ip.family == IP_V4 ? BIRD_IPV4 : BIRD_IPV6;
        if (channels[family].present && channels[family].exports)
            session->networks.items[kept++] = *network;
    }
    session->networks.count = kept;
}

static int on_list(struct bird_poll *poll, const struct bird_reply *reply)
{
    struct bird_session *session = &poll->facts.sessions.items[poll->index];
    if (!bird_reply_ok(reply))
        return 0;
    int r = bird_parse_networks(reply, &session->networks);
    drop_unexported(session);
    session->listed = r == 0;
    session->filtered = (int64_t)session->networks.count;
    return r;
}

static int ignore(struct bird_poll *poll, const struct bird_reply *reply)
{
    (void)poll, (void)reply;
    return 0;
}

static int (*const on_reply[])(struct bird_poll *poll, const struct bird_reply *reply) = {
    [BIRD_GREETING] = on_greeting, [BIRD_RESTRICT] = ignore,        [BIRD_ECHO] = on_echo,
    [BIRD_STATUS] = on_status,     [BIRD_PROTOCOLS] = on_protocols, [BIRD_BFD] = on_bfd,
    [BIRD_LEARNED] = on_learned,   [BIRD_EXPORTED] = on_exported,   [BIRD_FILTERED] = on_filtered,
    [BIRD_LIST] = on_list,
};

/* Sessions that are up and whose filters are meant to accept some routes. */
static bool exports(const struct bird_session *session)
{
    const struct bird_channel *channels = session->protocol.channels;
    return strcmp(session->protocol.bgp_state, "Established") == 0 &&
           ((channels[BIRD_IPV4].present && channels[BIRD_IPV4].exports) ||
            (channels[BIRD_IPV6].present && channels[BIRD_IPV6].exports));
}

static size_t items_of(const struct bird_poll *poll)
{
    switch (poll->step) {
    case BIRD_LEARNED:
        return poll->brief ? 0 : poll->kernels.count;
    case BIRD_EXPORTED:
    case BIRD_FILTERED:
    case BIRD_LIST:
        return poll->brief ? 0 : poll->facts.sessions.count;
    default:
        return 1;
    }
}

static void command_of_item(const struct bird_poll *poll, struct text *command)
{
    char set[OURS_SETLEN];
    ours_exported_set(set);
    if (poll->step == BIRD_LEARNED) {
        const struct bird_protocol *kernel = &poll->kernels.items[poll->index];
        if (strcmp(kernel->state, "up") == 0 && bird_name_usable(kernel->name))
            text_addf(command, "show route protocol '%s' " OURS " count\n", kernel->name, set);
        return;
    }
    const struct bird_session *session = &poll->facts.sessions.items[poll->index];
    if (!exports(session) || !bird_name_usable(session->protocol.name))
        return;
    if (poll->step == BIRD_EXPORTED)
        text_addf(command, "show route export '%s' " OURS " count\n", session->protocol.name, set);
    else if (poll->step == BIRD_FILTERED)
        text_addf(command, "show route noexport '%s' " OURS " count\n", session->protocol.name,
                  set);
    else if (session->filtered > 0 && session->filtered <= BIRD_LISTED_MAX)
        text_addf(command, "show route noexport '%s' " OURS "\n", session->protocol.name, set);
}

/* Stays empty if there is nothing to query. */
static void command_of(const struct bird_poll *poll, struct text *command)
{
    static const char *const fixed[] = {
        [BIRD_RESTRICT] = "restrict\n",
        [BIRD_ECHO] = "echo { info, remote, warning, error, auth, fatal, bug } 4096\n",
        [BIRD_STATUS] = "show status\n",
        [BIRD_PROTOCOLS] = "show protocols all\n",
        [BIRD_BFD] = "show bfd sessions\n",
        [BIRD_IDLE] = NULL,
    };
    if (fixed[poll->step])
        text_add(command, fixed[poll->step]);
    else if (poll->step != BIRD_IDLE && poll->index < items_of(poll))
        command_of_item(poll, command);
}

static void move_on(struct bird_poll *poll)
{
    if (poll->index + 1 < items_of(poll)) {
        poll->index++;
        return;
    }
    poll->step++;
    poll->index = 0;
}

void bird_poll_command(struct bird_poll *poll, struct text *command)
{
    for (;;) {
        command_of(poll, command);
        if (command->length > 0 || poll->step == BIRD_IDLE || text_error(command) < 0)
            return;
        move_on(poll);
    }
}

int bird_poll_take(struct bird_poll *poll, const struct bird_reply *reply, int64_t wall_ms)
{
    if (poll->step == BIRD_IDLE)
        return -EPROTO;
    poll->wall_ms = wall_ms;
    int r = on_reply[poll->step](poll, reply);
    if (r < 0)
        return r;
    move_on(poll);
    return 0;
}

const char *bird_poll_question(const struct bird_poll *poll)
{
    static const char *const names[] = {
        [BIRD_GREETING] = "the connection",
        [BIRD_RESTRICT] = "\"restrict\"",
        [BIRD_ECHO] = "\"echo\"",
        [BIRD_STATUS] = "\"show status\"",
        [BIRD_PROTOCOLS] = "\"show protocols all\"",
        [BIRD_BFD] = "\"show bfd sessions\"",
        [BIRD_LEARNED] = "\"show route protocol\"",
        [BIRD_EXPORTED] = "\"show route export\"",
        [BIRD_FILTERED] = "\"show route noexport\"",
        [BIRD_LIST] = "\"show route noexport\"",
        [BIRD_IDLE] = "anything",
    };
    return names[poll->step];
}

void bird_poll_connected(struct bird_poll *poll)
{
    bird_poll_done(poll);
    poll->step = BIRD_GREETING;
    poll->index = 0;
    poll->log_heard = false;
    poll->before = NULL;
}

void bird_poll_again(struct bird_poll *poll, const struct bird_facts *before)
{
    poll->step = BIRD_STATUS;
    poll->index = 0;
    poll->before = before;
}

void bird_poll_done(struct bird_poll *poll)
{
    bird_facts_clear(&poll->facts);
    vec_done(&poll->kernels);
    vec_done(&poll->bfd);
}
