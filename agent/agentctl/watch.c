// SPDX-License-Identifier: Apache-2.0
/*
 * `--watch`: the verb is run again and again with its output caught in memory (glibc lets stdout
 * and stderr be other streams), and shown if it differs from the last.
 *
 * It is run again when the agent tells that something is another, or that it is still there; for
 * what moves without a change, such as counters, each second as well. Where the agent can't tell
 * (it is away, or older), it is asked each second. However often it tells, it is left alone for
 * twenty times as long as the answer took, within limits: a list of 100,000 routes is not asked for
 * without end.
 *
 * On a terminal it is rewritten in place, cut to the window: lines by the terminal itself (its
 * wrapping is switched off meanwhile), and their number here. Elsewhere each new output follows
 * the last, one document per line with --json, so that it can be piped. What a verb says of a
 * failure is shown like its output; an agent that is away for a moment does not end the watch.
 */
#include "agentctl/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/macro.h"
#include "client/agent_changes.h"

enum { INTERVAL_MS = 1000, REST_TIMES = 20, REST_MIN_MS = 100 };

static const char clear_screen[] = "\033[2J";
static const char go_home[] = "\033[H\033[?7l";    /* and no wrapping */
static const char clear_rest[] = "\033[J\033[?7h"; /* and wrapping again */
static const char end_of_line[] = "\033[K\n";

/* What one run of the verb said. */
struct said {
    char *out, *errors;
    size_t out_size, errors_size;
    int status;
};

static void said_done(struct said *said)
{
    free(said->out);
    free(said->errors);
    *said = (struct said){ 0 };
}

static int catch_run(const struct verb *verb, const struct ctl *ctl, char **args, struct said *ret)
{
    FILE *real_out = stdout, *real_errors = stderr;
    FILE *out = open_memstream(&ret->out, &ret->out_size);
    FILE *errors = open_memstream(&ret->errors, &ret->errors_size);

    if (out && errors) {
        stdout = out;
        stderr = errors;
        ret->status = verb->run(ctl, args);
        stdout = real_out;
        stderr = real_errors;
    }
    /* Closing is what makes the strings valid, and tells whether memory sufficed. */
    bool failed = !out || fclose(out) != 0;
    failed |= !errors || fclose(errors) != 0;
    return failed ? -ENOMEM : 0;
}

static unsigned screen_lines(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row < 2)
        return 24;
    return size.ws_row;
}

/* Writes at most `room` lines of the text, and returns how many are left. */
static unsigned rewrite_lines(const char *text, unsigned room)
{
    while (*text && room > 0) {
        size_t length = strcspn(text, "\n");
        printf("%.*s%s", (int)length, text, end_of_line);
        text += length + (text[length] == '\n');
        room--;
    }
    return room;
}

static void show_on_screen(const struct said *now, bool first)
{
    printf("%s%s", first ? clear_screen : "", go_home);
    unsigned room = rewrite_lines(now->errors, screen_lines() - 1);
    (void)rewrite_lines(now->out, room);
    printf("%s", clear_rest);
}

static void show_below(const struct ctl *ctl, const struct said *now, const struct said *last)
{
    bool changed = !last->out || strcmp(now->out, last->out) != 0;

    if (!last->errors || strcmp(now->errors, last->errors) != 0)
        fputs(now->errors, stderr);
    if (changed && last->out && *last->out && *now->out && !ctl->json && !ctl->brief)
        (void)putchar('\n');
    if (changed)
        (void)fputs(now->out, stdout);
}

static int failed(int error)
{
    fprintf(stderr, "agentctl: %s\n", strerror(-error));
    return EXIT_FAILED;
}

/* Until it is worth asking again. */
static void await_news(const struct verb *verb, struct agent_changes *changes, int64_t took_ms)
{
    const int64_t rest_ms = MIN(MAX(took_ms * REST_TIMES, REST_MIN_MS), INTERVAL_MS);
    const struct timespec rest = { .tv_nsec = (long)(MIN(rest_ms, INTERVAL_MS - 1) * 1000000) };

    (void)nanosleep(&rest, NULL);
    agent_changes_wait(changes, INTERVAL_MS - rest_ms, verb->moves);
}

int watch(const struct verb *verb, const struct ctl *ctl, char **args)
{
    CLEANUP(agent_changes_freep) struct agent_changes *changes = NULL;
    const char *term = getenv("TERM");
    const bool screen = !ctl->json && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
    CLEANUP(said_done) struct said last = { 0 };

    int r = agent_changes_new(ctl->socket, &changes);
    if (r < 0)
        return failed(r);
    for (;;) {
        CLEANUP(said_done) struct said now = { 0 };
        const int64_t began_ms = clock_mono_ms();
        r = catch_run(verb, ctl, args, &now);
        if (r < 0)
            return failed(r);
        if (screen)
            show_on_screen(&now, !last.out);
        else
            show_below(ctl, &now, &last);
        if (fflush(stdout) != 0)
            return EXIT_FAILED;
        if (now.status == EXIT_USAGE || now.status == EXIT_PERMISSION)
            return now.status;
        said_done(&last);
        last = now;
        now = (struct said){ 0 };
        await_news(verb, changes, clock_mono_ms() - began_ms);
    }
}
