// SPDX-License-Identifier: Apache-2.0
/* The steps of requesting a block; see block_ask.h. Called by report/block_keeper.c. */
#include "plan/pods/block_ask.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"

enum {
    READ_FIRST_MS = 1000,
    READ_LAST_MS = 60 * 1000,
    ARRIVED_FIRST_MS = 50,     /* between block and condition the controller makes one write */
    BLOCK_WAIT_MS = 10 * 1000, /* from the condition to the block that it names */
    AGAIN_FIRST_MS = 2 * 1000,
    AGAIN_LAST_MS = 60 * 1000,
};

static int64_t longer(int64_t pause_ms, int64_t first_ms, int64_t last_ms)
{
    return pause_ms ? MIN(2 * pause_ms, last_ms) : first_ms;
}

static void read_later(struct block_ask *ask, int64_t now_ms)
{
    ask->read_pause_ms =
        longer(ask->read_pause_ms, ask->arrived ? ARRIVED_FIRST_MS : READ_FIRST_MS, READ_LAST_MS);
    ask->read_ms = now_ms + ask->read_pause_ms;
}

enum block_ask_step block_ask_step(const struct block_ask *ask, int64_t now_ms)
{
    switch (ask->state) {
    case ASK_IDLE:
        return ask->wanted && now_ms >= ask->again_ms ? ASK_CREATE : ASK_NOTHING;
    case ASK_FOUND:
    case ASK_WAITING:
        return now_ms >= ask->read_ms ? ASK_READ : ASK_NOTHING;
    case ASK_OVER:
        break;
    }
    return ASK_DELETE;
}

int64_t block_ask_next_ms(const struct block_ask *ask)
{
    switch (ask->state) {
    case ASK_IDLE:
        return ask->wanted ? ask->again_ms : INT64_MAX;
    case ASK_FOUND:
    case ASK_WAITING:
        return ask->read_ms;
    case ASK_OVER:
        break;
    }
    return INT64_MAX;
}

static void begin(struct block_ask *ask, enum block_ask_state state, const char *uid,
                  int64_t now_ms)
{
    ask->state = state;
    snprintf(ask->uid, sizeof(ask->uid), "%s", uid);
    ask->arrived = ask->foreign = false;
    ask->since_ms = now_ms;
    ask->answered_ms = ask->read_ms = ask->read_pause_ms = 0;
}

void block_ask_made(struct block_ask *ask, const char *uid, int64_t now_ms)
{
    begin(ask, ASK_WAITING, uid, now_ms);
    read_later(ask, now_ms);
}

void block_ask_taken(struct block_ask *ask, int64_t now_ms)
{
    begin(ask, ASK_FOUND, "", now_ms);
}

static void see_answer(struct block_ask *ask, const struct block_request *request, int64_t now_ms)
{
    if (request->failed) {
        ask->exhausted = true;
        ask->again_pause_ms = longer(ask->again_pause_ms, AGAIN_FIRST_MS, AGAIN_LAST_MS);
        ask->again_ms = now_ms + ask->again_pause_ms;
        ask->state = ASK_OVER;
        return;
    }
    if (ask->answered_ms == 0)
        ask->answered_ms = now_ms;
    if (ask->arrived || now_ms - ask->answered_ms >= BLOCK_WAIT_MS)
        ask->state = ASK_OVER;
    else
        read_later(ask, now_ms);
}

void block_ask_seen(struct block_ask *ask, const struct block_request *request, const char *node,
                    int64_t now_ms)
{
    if (!request) {
        block_ask_ended(ask);
        return;
    }
    ask->foreign = strcmp(request->node, node) != 0 || strcmp(request->pool, ask->pool) != 0;
    if (ask->foreign) {
        read_later(ask, now_ms);
        return;
    }
    if (strcmp(ask->uid, request->object.uid) != 0)
        begin(ask, ASK_WAITING, request->object.uid, now_ms);
    if (request->answered)
        see_answer(ask, request, now_ms);
    else
        read_later(ask, now_ms);
}

void block_ask_arrived(struct block_ask *ask, int64_t now_ms)
{
    if (ask->arrived)
        return;
    ask->arrived = true;
    ask->exhausted = false;
    ask->again_ms = ask->again_pause_ms = ask->read_pause_ms = 0;
    ask->read_ms = now_ms;
}

void block_ask_ended(struct block_ask *ask)
{
    begin(ask, ASK_IDLE, "", 0);
}

void block_ask_hope(struct block_ask *ask, int64_t now_ms)
{
    ask->again_ms = now_ms;
    ask->again_pause_ms = 0;
}
