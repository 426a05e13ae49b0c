// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the stream of changes.
 *
 * A line of the stream says only that the agent's state may have changed; the state is in the
 * answers to requests. So lines are counted as they arrive, and dropped. Lines that arrived while
 * no call waited count as one: the socket buffers some, and behind it the agent has room for one
 * line.
 *
 * A stream that ends counts as a change, since the agent may have exited. A later call opens the
 * next one, after a pause that grows while none can be opened: if the agent is down, or is older
 * than streams (404), the command continues by polling, as it would without streams.
 */
#include "client/agent_changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

#include <curl/curl.h>

#include "base/clock.h"
#include "base/macro.h"
#include "loop/backoff.h"

enum { FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 10 * 1000 };

struct agent_changes {
    char *socket;
    CURLM *multi;
    CURL *easy;     /* NULL: there is no stream */
    bool heard;     /* a line arrived on it */
    bool news;      /* a line arrived that no call has returned for */
    int64_t due_ms; /* monotonic: when the stream counts as silent, or when to open one */
    struct backoff backoff;
};

static size_t on_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct agent_changes *changes = context;
    long status = 0;
    (void)curl_easy_getinfo(changes->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return 0; /* ends the transfer */
    if (memchr(bytes, '\n', size * count)) {
        changes->news = changes->heard = true;
        changes->due_ms = clock_mono_ms() + AGENT_SILENT_MS;
        backoff_reset(&changes->backoff);
    }
    return size * count;
}

static void close_stream(struct agent_changes *changes)
{
    if (changes->easy) {
        (void)curl_multi_remove_handle(changes->multi, changes->easy);
        curl_easy_cleanup(TAKE_PTR(changes->easy));
    }
    changes->heard = changes->news = false;
    changes->due_ms = clock_mono_ms() + backoff_next(&changes->backoff);
}

static bool set_options(CURL *easy, struct agent_changes *changes)
{
    return curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, changes->socket) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_URL, "http://agent/v1/changes") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, changes) == CURLE_OK;
}

static void open_stream(struct agent_changes *changes)
{
    changes->easy = curl_easy_init();
    changes->due_ms = clock_mono_ms() + AGENT_SILENT_MS;
    if (!changes->easy || !set_options(changes->easy, changes) ||
        curl_multi_add_handle(changes->multi, changes->easy) != CURLM_OK)
        close_stream(changes);
}

/* Reads what has arrived. */
static void run(struct agent_changes *changes)
{
    int running = 0;
    if (curl_multi_perform(changes->multi, &running) != CURLM_OK || running == 0 ||
        clock_mono_ms() >= changes->due_ms)
        close_stream(changes);
}

static void pause_until(int64_t until_ms)
{
    const int64_t ms = MAX(until_ms - clock_mono_ms(), INT64_C(0));
    const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    (void)nanosleep(&time, NULL);
}

/* Waits on the stream until it reports something; on one that never sent a line, until `end_ms`. */
static void follow(struct agent_changes *changes, int64_t end_ms, bool always)
{
    while (!changes->news) {
        bool was_heard = changes->heard;
        run(changes);
        if (!changes->easy && !was_heard)
            pause_until(end_ms);
        bool bounded = always || !changes->heard;
        int64_t left_ms = (bounded ? end_ms : changes->due_ms) - clock_mono_ms();
        if (!changes->easy || changes->news || (bounded && left_ms <= 0))
            break;
        left_ms = MIN(MAX(left_ms, INT64_C(0)), AGENT_SILENT_MS);
        (void)curl_multi_poll(changes->multi, NULL, 0, (int)left_ms, NULL);
    }
    changes->news = false;
}

void agent_changes_wait(struct agent_changes *changes, int64_t interval_ms, bool always)
{
    const int64_t now_ms = clock_mono_ms();
    if (!changes->easy && now_ms >= changes->due_ms)
        open_stream(changes);
    if (changes->easy)
        follow(changes, now_ms + interval_ms, always);
    else
        pause_until(now_ms + interval_ms);
}

bool agent_changes_heard(const struct agent_changes *changes)
{
    return changes->heard;
}

int agent_changes_new(const char *socket, struct agent_changes **ret_changes)
{
    if (strlen(socket) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return -ENAMETOOLONG;
    CLEANUP(agent_changes_freep) struct agent_changes *changes = calloc(1, sizeof(*changes));
    if (!changes)
        return -ENOMEM;
    changes->backoff = (struct backoff){ .initial_ms = FIRST_PAUSE_MS, .max_ms = LONGEST_PAUSE_MS };
    changes->socket = strdup(socket);
    changes->multi = curl_multi_init();
    if (!changes->socket || !changes->multi)
        return -ENOMEM;
    *ret_changes = TAKE_PTR(changes);
    return 0;
}

void agent_changes_free(struct agent_changes *changes)
{
    if (!changes)
        return;
    if (changes->easy)
        close_stream(changes);
    (void)curl_multi_cleanup(changes->multi);
    free(changes->socket);
    free(changes);
}
