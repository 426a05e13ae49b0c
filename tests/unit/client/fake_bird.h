/* SPDX-License-Identifier: Apache-2.0 */
/* A BIRD that follows a script, in the loop of its client. */
#pragma once

#include <stdbool.h>

#include <systemd/sd-event.h>

#include "base/text.h"

struct fake_bird {
    sd_event *event;
    char directory[32], path[64];
    int listener, peer; /* -1: closed */
    sd_event_source *listen_source, *peer_source;
    const char *greeting; /* NULL: says nothing */
    /* The reply to a command; NULL: none. "" hangs up. Text without a last line is half a reply. */
    const char *(*answer)(const char *command, void *context);
    void *context;
    struct text heard; /* all commands of all connections */
    unsigned connections;
};

void fake_bird_init(struct fake_bird *bird, sd_event *event);
/* Listens; a file that is in the way is replaced, as BIRD does it. */
void fake_bird_start(struct fake_bird *bird);
/* As by kill -9: the socket stays, nobody listens. */
void fake_bird_kill(struct fake_bird *bird);
void fake_bird_say(struct fake_bird *bird, const char *bytes);
void fake_bird_hang_up(struct fake_bird *bird);
void fake_bird_done(struct fake_bird *bird);
