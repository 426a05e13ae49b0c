// SPDX-License-Identifier: Apache-2.0
/* The client of a scripted BIRD. */
#include "bird_fixture.h"

#include <stdio.h>
#include <string.h>

#include "recording.h"

const struct bird_timing quick = {
    .poll_ms = 5,
    .soon_ms = 1,
    .reply_ms = 30,
    .stuck_ms = 60,
    .retry_initial_ms = 1,
    .retry_max_ms = 4,
};
const struct bird_timing late = {
    .poll_ms = 5,
    .soon_ms = 1,
    .reply_ms = 30,
    .stuck_ms = 60000,
    .retry_initial_ms = 1,
    .retry_max_ms = 4,
};
const struct bird_timing brisk = {
    .poll_ms = 5,
    .soon_ms = 1,
    .reply_ms = 60000,
    .stuck_ms = 60000,
    .retry_initial_ms = 1,
    .retry_max_ms = 4,
};
const struct bird_timing patient = {
    .poll_ms = 3600000,
    .soon_ms = 1,
    .reply_ms = 60000,
    .stuck_ms = 60000,
    .retry_initial_ms = 1,
    .retry_max_ms = 4,
};

int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    assert_true(sd_event_new(&fixture->event) >= 0);
    fake_bird_init(&fixture->bird, fixture->event);
    fixture->bird.greeting = "0001 BIRD 2.0.12 ready.\n";
    *state = fixture;
    return 0;
}

int teardown(void **state)
{
    struct fixture *fixture = *state;
    bird_client_free(fixture->client);
    fake_bird_done(&fixture->bird);
    sd_event_unref(fixture->event);
    for (size_t i = 0; i < fixture->recorded_count; i++)
        free(fixture->recorded[i]);
    free(fixture);
    return 0;
}

const char *recording(struct fixture *fixture, const char *name)
{
    size_t size;
    char *bytes = recording_read(name, &size);
    assert_true(fixture->recorded_count < ARRAY_SIZE(fixture->recorded));
    fixture->recorded[fixture->recorded_count++] = bytes;
    return bytes;
}

static const struct script *in_script(const struct fixture *fixture, const char *command)
{
    for (size_t i = 0; i < fixture->script_length; i++)
        if (strncmp(command, fixture->script[i].command, strlen(fixture->script[i].command)) == 0)
            return &fixture->script[i];
    return NULL;
}

static const char *answer(const char *command, void *context)
{
    struct fixture *fixture = context;
    const struct script *line = in_script(fixture, command);
    return line ? line->reply : "0000 \n";
}

static void on_changed(void *context)
{
    struct fixture *fixture = context;
    fixture->changes++;
}

static void on_heard(const char *line, void *context)
{
    struct fixture *fixture = context;
    fixture->lines_heard++;
    (void)snprintf(fixture->last_line, sizeof(fixture->last_line), "%s", line);
}

/* The options and the path are gone after the start, as after a reload of the daemon. */
void start_client_at(struct fixture *fixture, const struct bird_timing *timing, const char *path)
{
    AUTOFREE char *lent = strdup(path);
    assert_non_null(lent);
    struct bird_options options = {
        .event = fixture->event,
        .socket = lent,
        .timing = timing,
        .changed = on_changed,
        .heard = on_heard,
        .context = fixture,
    };
    fixture->bird.answer = answer;
    fixture->bird.context = fixture;
    assert_int_equal(bird_client_new(&options, &fixture->client), 0);
    fixture->view = bird_client_view(fixture->client);
}

void start_client(struct fixture *fixture, const struct bird_timing *timing)
{
    start_client_at(fixture, timing, fixture->bird.path);
}

void step(struct fixture *fixture)
{
    int r = sd_event_run(fixture->event, 10 * 1000 * 1000);
    assert_true(r > 0);
}

void connected(struct fixture *fixture, const struct bird_timing *timing)
{
    fake_bird_start(&fixture->bird);
    start_client(fixture, timing);
    run_until(fixture, fixture->view->reachable);
}
