// SPDX-License-Identifier: Apache-2.0
/* See announcing.h. Run by segment/. */
#include "plan/claims/announcing.h"

#include <string.h>

#include "base/clock.h"
#include "base/macro.h"

enum {
    PROBES = 3,
    PROBE_MS = 40, /* between two, and after the last; a host of a segment replies within a few */
    DEFEND_MS = 10 * 1000, /* RFC 5227, 2.4 (b): a second conflict within it, and it is given up */
    REFRESH_MS = 60 * 1000,
    PAUSE_FIRST_MS = 1000,
    PAUSE_MOST_MS = 8000,
    SEEKS = 46,
    SEEKS_SOON = 12,
    SEEK_SOON_MS = 250,
    SEEK_MS = 500,   /* after those: 20 s in all */
    TOLD_AGAIN = 3,  /* of the rounds: one second after the first, for lost frames */
    AGAIN_MS = 250,  /* between announcements triggered by probes */
    ASK_MS = 220,    /* between two probes of the rival */
    ANSWER_MS = 110, /* after such a probe: a message within this time is its reply */
    RIVAL_MS = 850,  /* without a reply to three of them: it is gone */
};

/* Since the start of the round; a switch or a host may lose a frame. */
static const int64_t rounds_ms[] = { 0, 100, 300, 1000, 3000 };

static void enter(struct announcing *announcing, enum announcing_state state, int64_t next_ms)
{
    announcing->state = state;
    announcing->sent = 0;
    announcing->next_ms = next_ms;
}

void announcing_seek(struct announcing *announcing, int64_t now_ms)
{
    if (announcing->state == ANNOUNCING_IDLE)
        enter(announcing, ANNOUNCING_SEEKING, now_ms);
}

void announcing_begin(struct announcing *announcing, int64_t now_ms)
{
    if (announcing->state == ANNOUNCING_IDLE || announcing->state == ANNOUNCING_SEEKING)
        enter(announcing, ANNOUNCING_PROBING, now_ms);
}

void announcing_inherit(struct announcing *announcing, int64_t now_ms)
{
    *announcing = (struct announcing){ 0 };
    enter(announcing, ANNOUNCING_HELD, now_ms + REFRESH_MS);
    announcing->sent = ARRAY_SIZE(rounds_ms);
}

void announcing_stop(struct announcing *announcing)
{
    if (announcing->state == ANNOUNCING_SEEKING)
        return;
    *announcing = (struct announcing){ .next_ms = INT64_MAX };
}

bool announcing_may_install(const struct announcing *announcing)
{
    return announcing->state == ANNOUNCING_CLEAR || announcing->state == ANNOUNCING_HELD;
}

void announcing_installed(struct announcing *announcing, int64_t now_ms)
{
    if (announcing->state == ANNOUNCING_CLEAR)
        enter(announcing, ANNOUNCING_HELD, now_ms);
}

void announcing_again(struct announcing *announcing, int64_t now_ms)
{
    if (announcing->state == ANNOUNCING_HELD)
        enter(announcing, ANNOUNCING_HELD, now_ms);
}

void announcing_confirmed(struct announcing *announcing, int64_t now_ms)
{
    (void)now_ms;
    if (announcing->state == ANNOUNCING_DOUBTED)
        enter(announcing, ANNOUNCING_CLEAR, INT64_MAX);
}

bool announcing_is_rivalled(const struct announcing *announcing)
{
    return announcing->state == ANNOUNCING_HELD && announcing->rivalled;
}

int64_t announcing_due_ms(const struct announcing *announcing)
{
    return announcing_is_rivalled(announcing) ? MIN(announcing->next_ms, announcing->ask_ms)
                                              : announcing->next_ms;
}

/* For a held address: probes whether the rival still has it. */
static enum announcing_step ask(struct announcing *announcing, int64_t now_ms)
{
    announcing->rivalled = now_ms - announcing->rival_ms < RIVAL_MS;
    announcing->ask_ms = now_ms + ASK_MS;
    announcing->asked_ms = now_ms;
    return announcing->rivalled ? ANNOUNCING_SEARCH : ANNOUNCING_NOTHING;
}

static bool is_answer(const struct announcing *announcing, int64_t now_ms)
{
    return announcing_is_rivalled(announcing) && announcing->asked_ms &&
           now_ms - announcing->asked_ms < ANSWER_MS;
}

static enum announcing_step probe(struct announcing *announcing, int64_t now_ms)
{
    if (announcing->sent == PROBES) {
        enter(announcing, ANNOUNCING_CLEAR, INT64_MAX);
        return ANNOUNCING_NOTHING;
    }
    announcing->sent++;
    announcing->next_ms = now_ms + PROBE_MS;
    return ANNOUNCING_PROBE;
}

static enum announcing_step seek(struct announcing *announcing, int64_t now_ms)
{
    if (announcing->sent == SEEKS) {
        enter(announcing, ANNOUNCING_IDLE, INT64_MAX);
        return ANNOUNCING_NOTHING;
    }
    announcing->sent++;
    announcing->next_ms = now_ms + (announcing->sent < SEEKS_SOON ? SEEK_SOON_MS : SEEK_MS);
    return ANNOUNCING_SEARCH;
}

static enum announcing_step say(struct announcing *announcing, int64_t now_ms)
{
    unsigned done = announcing->sent;
    announcing->said_ms = now_ms;
    if (done + 1 < ARRAY_SIZE(rounds_ms)) {
        announcing->next_ms = now_ms + rounds_ms[done + 1] - rounds_ms[done];
        announcing->sent++;
    } else {
        announcing->next_ms = now_ms + REFRESH_MS;
        announcing->sent = ARRAY_SIZE(rounds_ms);
    }
    return done == 0 || done == TOLD_AGAIN ? ANNOUNCING_TELL : ANNOUNCING_SAY;
}

enum announcing_step announcing_next(struct announcing *announcing, int64_t now_ms)
{
    if (announcing_is_rivalled(announcing) && now_ms >= announcing->ask_ms) {
        enum announcing_step step = ask(announcing, now_ms);
        if (step != ANNOUNCING_NOTHING)
            return step;
    }
    if (now_ms < announcing->next_ms)
        return ANNOUNCING_NOTHING;
    switch (announcing->state) {
    case ANNOUNCING_TAKEN:
        enter(announcing, ANNOUNCING_PROBING, now_ms);
        return probe(announcing, now_ms);
    case ANNOUNCING_PROBING:
        return probe(announcing, now_ms);
    case ANNOUNCING_SEEKING:
        return seek(announcing, now_ms);
    case ANNOUNCING_HELD:
        return say(announcing, now_ms);
    case ANNOUNCING_IDLE:
    case ANNOUNCING_CLEAR:
    case ANNOUNCING_DOUBTED:
        break;
    }
    return ANNOUNCING_NOTHING;
}

static void be_taken(struct announcing *announcing, int64_t now_ms)
{
    int64_t longer_ms = MIN(2 * announcing->pause_ms, PAUSE_MOST_MS);
    announcing->pause_ms = MAX(longer_ms, PAUSE_FIRST_MS);
    enter(announcing, ANNOUNCING_TAKEN, now_ms + announcing->pause_ms);
}

/* A conflict while held: the first within DEFEND_MS is defended, if the lease is still held. */
static void be_contested(struct announcing *announcing, int64_t now_ms)
{
    bool again = announcing->contested && now_ms - announcing->contested_ms < DEFEND_MS;
    announcing->contested = true;
    announcing->contested_ms = now_ms;
    announcing->rivalled = true;
    announcing->rival_ms = now_ms;
    announcing->ask_ms = now_ms + ASK_MS;
    announcing->asked_ms = 0; /* a message before that is no reply */
    if (again) {
        be_taken(announcing, now_ms);
        return;
    }
    announcing->pause_ms = 0;
    enter(announcing, ANNOUNCING_DOUBTED, INT64_MAX);
}

/*
 * The kernel replies to the probe; other hosts in its part of the segment may have missed the
 * announcements.
 */
static void say_again(struct announcing *announcing, int64_t now_ms)
{
    if (announcing->state == ANNOUNCING_HELD)
        announcing->next_ms = MIN(announcing->next_ms, MAX(now_ms, announcing->said_ms + AGAIN_MS));
}

bool announcing_heard(struct announcing *announcing, const uint8_t mac[static 6], bool is_probe,
                      int64_t now_ms)
{
    switch (announcing->state) {
    case ANNOUNCING_PROBING:
        be_taken(announcing, now_ms);
        break;
    case ANNOUNCING_CLEAR:
    case ANNOUNCING_HELD:
        if (is_probe) {
            say_again(announcing, now_ms);
            return false;
        }
        if (is_answer(announcing, now_ms)) {
            announcing->rival_ms = now_ms;
            return false;
        }
        be_contested(announcing, now_ms);
        break;
    case ANNOUNCING_SEEKING:
        if (!is_probe)
            enter(announcing, ANNOUNCING_IDLE, INT64_MAX);
        return false;
    case ANNOUNCING_IDLE:
    case ANNOUNCING_TAKEN:
    case ANNOUNCING_DOUBTED:
        return false;
    }
    memcpy(announcing->mac, mac, sizeof(announcing->mac));
    return true;
}
