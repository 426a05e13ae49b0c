// SPDX-License-Identifier: Apache-2.0
/*
 * BIRD's side of its control socket, played by the input: framing, every reply's parser, and the
 * conversation that they drive, over as many polls as the input lasts.
 *
 * What BIRD says ends up in commands, in status and in memory. So every command is one line of
 * printable characters, every string ends, lists are sorted and bounded, and it makes no
 * difference in which pieces the bytes come.
 */
#include <errno.h>
#include <string.h>

#include "client/bird/bird_poll.h"
#include "client/bird/bird_reply.h"
#include "fuzz.h"

enum { POLLS_MAX = 8 };

#define MUST_END(array) MUST(memchr(array, '\0', sizeof(array)))

/* A conversation, and all that was said in it by us. */
struct talk {
    struct bird_reply reply;
    struct bird_poll poll;
    struct bird_facts before;
    struct text said;
    int polls;
    bool ended;
};

static void hear_unasked(const char *line, void *context)
{
    (void)context;
    MUST(!strchr(line, '\n'));
}

static void check_command(const struct text *command)
{
    MUST(command->data[command->length - 1] == '\n');
    for (size_t i = 0; i + 1 < command->length; i++)
        MUST((uint8_t)command->data[i] >= 0x20 && command->data[i] != 0x7f);
}

static void check_networks(const bird_prefix_list *networks)
{
    MUST(networks->count <= BIRD_LISTED_MAX);
    for (size_t i = 0; i < networks->count; i++) {
        const struct prefix *prefix = &networks->items[i];
        MUST(prefix->ip.family != IP_NONE && prefix->length <= ip_bits(&prefix->ip));
        MUST(i == 0 || prefix_cmp(prefix - 1, prefix) < 0);
    }
}

/* The facts of a whole poll, written down too. */
static void check_facts(const struct bird_facts *facts, struct text *said)
{
    MUST_END(facts->version);
    vec_each(const struct bird_session, session, &facts->sessions) {
        const struct bird_protocol *protocol = &session->protocol;
        MUST_END(protocol->name);
        MUST_END(protocol->kind);
        MUST_END(protocol->state);
        MUST_END(protocol->neighbor);
        MUST_END(protocol->bgp_state);
        MUST_END(protocol->last_error);
        MUST_END(session->bfd);
        MUST(session->filtered >= -1 && protocol->since_ms >= -1);
        MUST(protocol->hold_left_ms >= -1 && protocol->hold_ms >= -1);
        for (int i = 0; i < BIRD_FAMILIES; i++) {
            MUST_END(protocol->channels[i].table);
            MUST(protocol->channels[i].imported >= -1 && protocol->channels[i].exported >= -1);
        }
        check_networks(&session->networks);
        text_addf(said, "%s %s %s %zu\n", protocol->name, protocol->state, session->bfd,
                  session->networks.count);
    }
    for (int i = 0; i < BIRD_FAMILIES; i++)
        MUST(facts->learned[i] >= -1);
}

/* All parsers on any reply, whatever it answers. */
static void parse_all(const struct bird_reply *reply)
{
    struct bird_server server = { .now_ms = -1 };
    bird_protocol_list protocols = { 0 };
    bird_bfd_list bfd = { 0 };
    bird_prefix_list networks = { 0 };
    int64_t count = 0;
    MUST(bird_parse_greeting(reply, &server) <= 0);
    bird_parse_status(reply, &server);
    MUST_END(server.version);
    MUST(bird_parse_protocols(reply, server.now_ms, &protocols) == 0);
    MUST(bird_parse_bfd(reply, &bfd) == 0);
    MUST(bird_parse_networks(reply, &networks) == 0);
    if (bird_parse_count(reply, &count) == 0)
        MUST(count >= 0);
    vec_done(&protocols);
    vec_done(&bfd);
    vec_done(&networks);
}

static void take_reply(struct talk *talk)
{
    MUST(talk->reply.lines.count > 0 && bird_reply_code(&talk->reply) <= 9999);
    parse_all(&talk->reply);
    int r = bird_poll_take(&talk->poll, &talk->reply, INT64_C(1795161600000));
    bird_reply_clear(&talk->reply);
    if (r < 0) {
        MUST(r == -EPROTO);
        talk->ended = true;
        return;
    }
    AUTOTEXT struct text command = { 0 };
    bird_poll_command(&talk->poll, &command);
    if (command.length == 0) {
        MUST(talk->poll.step == BIRD_IDLE);
        check_facts(&talk->poll.facts, &talk->said);
        talk->ended = ++talk->polls == POLLS_MAX;
        bird_facts_clear(&talk->before);
        talk->before = talk->poll.facts;
        talk->poll.facts = (struct bird_facts){ 0 };
        bird_poll_again(&talk->poll, &talk->before);
        bird_poll_command(&talk->poll, &command);
    }
    MUST(command.length > 0);
    check_command(&command);
    MUST(bird_poll_question(&talk->poll));
    text_add(&talk->said, text_str(&command));
}

static void listen_to(struct talk *talk, const char *bytes, size_t size)
{
    size_t used;
    for (size_t at = 0; at < size && !talk->ended; at += used) {
        int r = bird_reply_feed(&talk->reply, bytes + at, size - at, &used);
        if (r < 0) {
            MUST(r == -EPROTO || r == -EFBIG);
            talk->ended = true;
            return;
        }
        MUST(used > 0 && used <= size - at && (used == size - at || talk->reply.complete));
        if (talk->reply.complete)
            take_reply(talk);
    }
}

static void talk_done(struct talk *talk)
{
    bird_reply_clear(&talk->reply);
    bird_poll_done(&talk->poll);
    bird_facts_clear(&talk->before);
    text_done(&talk->said);
}

static void talk_begin(struct talk *talk)
{
    *talk = (struct talk){ .reply = { .unasked = hear_unasked } };
    bird_poll_connected(&talk->poll);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct talk whole, pieces;
    talk_begin(&whole);
    talk_begin(&pieces);
    listen_to(&whole, (const char *)bytes, size);
    for (size_t i = 0; i < size; i++)
        listen_to(&pieces, (const char *)bytes + i, 1);
    MUST(strcmp(text_str(&whole.said), text_str(&pieces.said)) == 0);
    MUST(whole.ended == pieces.ended && whole.polls == pieces.polls);
    talk_done(&whole);
    talk_done(&pieces);
    return 0;
}
