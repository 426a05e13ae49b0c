/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for the agent to become another: a Status that is answered once a change is applied,
 * and streams that tell of each change. For the table of routes (api.c), and for the agent, which
 * says when something is another.
 */
#pragma once

#include <stdint.h>

#include <systemd/sd-event.h>

#include "api/view.h"
#include "base/cleanup.h"
#include "loop/http.h"

enum { CHANGES_HEARTBEAT_MS = 5000 };

struct api_changes;

struct api_changes_options {
    sd_event *event;
    const struct api_state *state;
    /* Called before a Status is written for who waited: brings its counts up to date. */
    void (*count)(void *context);
    void *context;
};

/* Returns 0 or -errno. */
int api_changes_new(const struct api_changes_options *options, struct api_changes **ret_changes);

/* After the servers whose requests it has. */
void api_changes_free(struct api_changes *changes);
DEFINE_CLEANUP(struct api_changes *, api_changes_free);

/*
 * Something that a document tells may be another. Cheap, and may be called from anywhere: all that
 * is noted in one turn of the loop is one change. NULL: nobody is there who could be told.
 */
void api_changes_note(struct api_changes *changes);

/*
 * Answers with Status: at once, if change number `generation` of the source is applied, the agent
 * runs and its first complete pass is over, or if the source of this agent has not come that far at
 * all, as after a restart; else later. Replies 503 if too many wait.
 */
void api_changes_await(struct api_changes *changes, const struct http_request *request,
                       uint64_t generation, struct http_reply *reply);

/* Answers with a stream of Change documents; replies 503 if there are too many. */
void api_changes_stream(struct api_changes *changes, const struct http_request *request,
                        struct http_reply *reply);
