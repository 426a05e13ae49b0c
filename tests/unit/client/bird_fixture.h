/* SPDX-License-Identifier: Apache-2.0 */
/* The client of a scripted BIRD, for the tests of client/bird/bird.h. */
#pragma once

#include "base/macro.h"
#include "client/bird/bird.h"
#include "cmocka_all.h"
#include "fake_bird.h"

/* Replies are late soon, and stuck soon after, or never; polls come often and no reply is late; no
 * poll comes but when asked. */
extern const struct bird_timing quick, late, brisk, patient;

struct script {
    const char *command, *reply; /* a command that begins like this */
};

struct fixture {
    sd_event *event;
    struct fake_bird bird;
    struct bird_client *client;
    const struct bird_view *view;
    unsigned changes, lines_heard;
    char last_line[128];
    /* Looked up first; to the rest the answer is that it is done. */
    const struct script *script;
    size_t script_length;
    char *recorded[16];
    size_t recorded_count;
};

int setup(void **state);
int teardown(void **state);

/* The bytes of a recording, for as long as the test runs. */
const char *recording(struct fixture *fixture, const char *name);

/* A client of the socket at `path`. */
void start_client_at(struct fixture *fixture, const struct bird_timing *timing, const char *path);
void start_client(struct fixture *fixture, const struct bird_timing *timing);
/* Starts both and waits for the first poll. */
void connected(struct fixture *fixture, const struct bird_timing *timing);

void step(struct fixture *fixture);

#define run_until(fixture, condition)              \
    for (int guard_ = 0; !(condition); guard_++) { \
        assert_true(guard_ < 100000);              \
        step(fixture);                             \
    }

#define use_script(fixture, lines)                    \
    do {                                              \
        (fixture)->script = (lines);                  \
        (fixture)->script_length = ARRAY_SIZE(lines); \
    } while (0)
