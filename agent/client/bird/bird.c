// SPDX-License-Identifier: Apache-2.0
/*
 * The connection to BIRD: connects, times out, gives up and reconnects. The commands are in
 * bird_poll.c. agentd owns the client and reads its view.
 *
 * One command is under way at a time, with a deadline; the view is replaced only by the facts of a
 * complete poll. Silence empties the view, and the connection waits for BIRD to answer. Any other
 * error ends the connection and empties the view; reconnects have growing delays, which a complete
 * poll resets.
 *
 * connect() on a unix socket succeeds or fails at once (EAGAIN: the queue is full), even if BIRD is
 * stopped. A command fits into the socket's buffer, because the one before was answered.
 *
 * BIRD is polled each second, since it does not report that a session comes up or loses its
 * connection. Lines of its log have no code; lines with known words trigger the next poll early: an
 * operator changed something, a session ended with an error, or the kernel dropped netlink
 * messages, so that until its next scan BIRD lacks routes.
 */
#include "client/bird/bird.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "loop/backoff.h"
#include "loop/timer.h"

struct bird_client {
    struct bird_options options;
    char *path;
    int fd; /* -1: not connected */
    sd_event_source *io;
    struct timer *deadline, *poll_timer, *connect_timer;
    struct backoff backoff;
    struct bird_reply reply;
    struct bird_poll poll;
    bool poll_soon;  /* the timer is set for a poll that was requested */
    bool poll_twice; /* another poll was requested while one was going on */
    bool late;       /* the awaited reply is overdue, and that was reported */
    bool was_late; /* a reply of this poll was overdue: the poll's duration does not measure BIRD's
                      load */
    int64_t poll_started_ms, poll_took_ms;
    int64_t asked_all_ms; /* when the last poll began that sent all commands */
    struct bird_view view;
};

const struct bird_timing bird_timing_default = {
    .poll_ms = SECOND_MS,
    .soon_ms = SECOND_MS / 4,
    .reply_ms = SECOND_MS,
    .stuck_ms = MINUTE_MS,
    .retry_initial_ms = SECOND_MS,
    .retry_max_ms = 2 * SECOND_MS,
};

enum { REST = 20 }; /* the pause after a poll, as a multiple of its duration */

#define REST_MAX_MS (10 * SECOND_MS)
#define ALL_MS      (5 * MINUTE_MS) /* all commands are sent, whatever BIRD's counters say */

static void disconnect(struct bird_client *client)
{
    client->io = sd_event_source_disable_unref(client->io);
    closep(&client->fd);
    client->fd = -1;
    timer_disarm(client->deadline);
    timer_disarm(client->poll_timer);
    bird_reply_clear(&client->reply);
    client->poll_soon = client->poll_twice = client->late = false;
    client->view.overflows = 0;
}

/* Empties the view and records why. */
static void lose(struct bird_client *client, const char *error)
{
    struct bird_view *view = &client->view;
    if (!view->reachable && strcmp(view->error, error) == 0)
        return;
    if (view->reachable || view->error[0] == '\0')
        view->since_wall_ms = clock_wall_ms();
    bird_facts_clear(&view->facts);
    view->reachable = view->log_heard = false;
    (void)snprintf(view->error, sizeof(view->error), "%s", error);
    client->options.changed(client->options.context);
}

/* Ends the connection, records why, and schedules a retry. */
PRINTF_LIKE(2, 3) static void fail(struct bird_client *client, const char *format, ...)
{
    char error[sizeof(client->view.error)];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error, sizeof(error), format, args);
    va_end(args);

    disconnect(client);
    timer_arm(client->connect_timer, backoff_next(&client->backoff));
    lose(client, error);
}

static void fail_protocol(struct bird_client *client, int error)
{
    if (error == -ENOMEM)
        fail(client, "no memory for BIRD's reply");
    else if (error == -EFBIG)
        fail(client, "what answers at %s says more than is believable", client->path);
    else
        fail(client, "what answers at %s does not speak BIRD's protocol", client->path);
}

/* True if BIRD has sent something that is not read yet: then the delay is ours, not BIRD's. */
static bool has_said_something(const struct bird_client *client)
{
    struct pollfd ready = { .fd = client->fd, .events = POLLIN };
    return poll(&ready, 1, 0) > 0;
}

static void on_deadline(void *context)
{
    struct bird_client *client = context;
    const struct bird_timing *timing = client->options.timing;
    char error[sizeof(client->view.error)], limit[CLOCK_STRLEN];
    (void)snprintf(error, sizeof(error), "BIRD does not answer %s within %s",
                   bird_poll_question(&client->poll), clock_ago(timing->reply_ms, limit));
    if (has_said_something(client)) {
        timer_arm(client->deadline, timing->reply_ms);
    } else if (client->late) {
        fail(client, "%s", error);
    } else {
        client->late = client->was_late = true;
        timer_arm(client->deadline, timing->stuck_ms);
        lose(client, error);
    }
}

/* Words that follow the name of a protocol, or that begin a line. */
static bool is_news(const char *line)
{
    static const char *const first[] = { "Kernel dropped", "Reconfigured", "Enabling protocol",
                                         "Disabling protocol", "Restarting protocol" };
    for (size_t i = 0; i < ARRAY_SIZE(first); i++)
        if (strncmp(line, first[i], strlen(first[i])) == 0)
            return true;
    return strstr(line, ": Received: ") || strstr(line, ": Error: ");
}

static void on_unasked(const char *line, void *context)
{
    static const char overflow[] = "Kernel dropped some netlink messages";
    struct bird_client *client = context;
    if (strncmp(line, overflow, sizeof(overflow) - 1) == 0) {
        client->view.overflows++;
        client->view.last_overflow_mono_ms = clock_mono_ms();
    }
    if (client->options.heard)
        client->options.heard(line, client->options.context);
    if (is_news(line))
        bird_client_poll_soon(client);
}

static void arm_poll(struct bird_client *client, int64_t delay_ms)
{
    int64_t rest_ms = MIN(REST * client->poll_took_ms, REST_MAX_MS);
    int64_t passed_ms = clock_mono_ms() - client->poll_started_ms;
    int64_t wanted_ms = MAX(delay_ms, rest_ms);
    timer_arm(client->poll_timer, MAX(wanted_ms - passed_ms, 0));
}

static void finish_poll(struct bird_client *client)
{
    struct bird_view *view = &client->view;
    if (!view->reachable)
        view->since_wall_ms = clock_wall_ms();
    view->reachable = true;
    view->log_heard = client->poll.log_heard;
    view->error[0] = '\0';
    bird_facts_clear(&view->facts);
    view->facts = client->poll.facts;
    client->poll.facts = (struct bird_facts){ 0 };
    backoff_reset(&client->backoff);
    client->poll_took_ms = client->was_late ? 0 : clock_mono_ms() - client->poll_started_ms;

    client->poll_soon = client->poll_twice;
    client->poll_twice = false;
    const struct bird_timing *timing = client->options.timing;
    arm_poll(client, client->poll_soon ? timing->soon_ms : timing->poll_ms);
    client->options.changed(client->options.context);
}

/* Sends the next command, or ends the poll. */
static void ask(struct bird_client *client)
{
    if (client->poll.step == BIRD_STATUS) {
        client->poll_started_ms = clock_mono_ms();
        client->poll_soon = client->was_late = false;
    }
    AUTOTEXT struct text command = { 0 };
    bird_poll_command(&client->poll, &command);
    if (text_error(&command) < 0) {
        fail_protocol(client, -ENOMEM);
        return;
    }
    if (command.length == 0) {
        timer_disarm(client->deadline);
        finish_poll(client);
        return;
    }
    timer_arm(client->deadline, client->options.timing->reply_ms);
    ssize_t sent = send(client->fd, command.data, command.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != (ssize_t)command.length)
        fail(client, "BIRD does not take %s: %s", bird_poll_question(&client->poll),
             sent < 0 ? strerror(errno) : "it does not read");
}

static void take_reply(struct bird_client *client)
{
    int r = bird_poll_take(&client->poll, &client->reply, clock_wall_ms());
    client->late = false;
    bird_reply_clear(&client->reply);
    if (r < 0)
        fail_protocol(client, r);
    else
        ask(client);
}

static void take_bytes(struct bird_client *client, const char *bytes, size_t size)
{
    size_t used = 0;
    while (used < size) {
        size_t taken;
        int r = bird_reply_feed(&client->reply, bytes + used, size - used, &taken);
        if (r < 0) {
            fail_protocol(client, r);
            return;
        }
        used += taken;
        if (client->reply.complete)
            take_reply(client);
        if (client->fd < 0)
            return; /* it failed */
    }
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source, (void)events;
    struct bird_client *client = userdata;
    char bytes[16 * 1024];
    ssize_t size = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (size > 0) {
        if (!client->late && client->poll.step != BIRD_IDLE)
            timer_arm(client->deadline, client->options.timing->reply_ms);
        take_bytes(client, bytes, (size_t)size);
    } else if (size == 0 || errno == ECONNRESET)
        fail(client, "BIRD closed the connection");
    else if (errno != EAGAIN && errno != EINTR)
        fail(client, "cannot read from %s: %s", client->path, strerror(errno));
    return 0;
}

/* Reports what the errno of connect() means to an operator. */
static void fail_connect(struct bird_client *client, int error)
{
    if (error == -ENOENT)
        fail(client, "there is no socket %s: BIRD does not run, or has it elsewhere", client->path);
    else if (error == -ECONNREFUSED)
        fail(client, "BIRD does not run: nobody listens at %s", client->path);
    else if (error == -EAGAIN)
        fail(client, "BIRD does not take connections at %s", client->path);
    else
        fail(client, "cannot connect to %s: %s", client->path, strerror(-error));
}

static int open_socket(const char *path, int *ret_fd)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    AUTOCLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

static int connect_to_bird(struct bird_client *client)
{
    int r = open_socket(client->path, &client->fd);
    if (r < 0)
        return r;
    return sd_event_add_io(client->options.event, &client->io, client->fd, EPOLLIN, on_io, client);
}

static void on_connect_time(void *context)
{
    struct bird_client *client = context;
    int r = connect_to_bird(client);
    if (r < 0) {
        fail_connect(client, r);
        return;
    }
    bird_poll_connected(&client->poll);
    client->asked_all_ms = clock_mono_ms();
    timer_arm(client->deadline, client->options.timing->reply_ms);
}

static void on_poll_time(void *context)
{
    struct bird_client *client = context;
    int64_t now_ms = clock_mono_ms();
    bool all = now_ms - client->asked_all_ms >= ALL_MS;
    if (all)
        client->asked_all_ms = now_ms;
    bird_poll_again(&client->poll, all ? NULL : &client->view.facts);
    ask(client);
}

void bird_client_poll_soon(struct bird_client *client)
{
    if (client->fd < 0 || client->poll_soon)
        return;
    if (client->poll.step != BIRD_IDLE) {
        client->poll_twice = true;
        return;
    }
    client->poll_soon = true;
    arm_poll(client, client->options.timing->soon_ms);
}

const struct bird_view *bird_client_view(const struct bird_client *client)
{
    return &client->view;
}

static int add_timer(struct bird_client *client, void (*run)(void *context),
                     struct timer **ret_timer)
{
    return timer_new(client->options.event, SD_EVENT_PRIORITY_NORMAL, run, client, ret_timer);
}

int bird_client_new(const struct bird_options *options, struct bird_client **ret_client)
{
    CLEANUP(bird_client_freep) struct bird_client *client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    client->fd = -1;
    client->options = *options;
    client->reply.unasked = on_unasked;
    client->reply.context = client;
    bird_facts_clear(&client->view.facts);
    client->backoff = (struct backoff){ .initial_ms = options->timing->retry_initial_ms,
                                        .max_ms = options->timing->retry_max_ms };
    client->path = strdup(options->socket);
    if (!client->path)
        return -ENOMEM;
    client->options.socket = client->path; /* a reload frees the caller's string */

    int r = add_timer(client, on_deadline, &client->deadline);
    if (r < 0)
        return r;
    r = add_timer(client, on_poll_time, &client->poll_timer);
    if (r < 0)
        return r;
    r = add_timer(client, on_connect_time, &client->connect_timer);
    if (r < 0)
        return r;
    timer_arm(client->connect_timer, 0);
    *ret_client = TAKE_PTR(client);
    return 0;
}

void bird_client_free(struct bird_client *client)
{
    if (!client)
        return;
    client->io = sd_event_source_disable_unref(client->io);
    closep(&client->fd);
    timer_free(client->deadline);
    timer_free(client->poll_timer);
    timer_free(client->connect_timer);
    bird_reply_clear(&client->reply);
    bird_facts_clear(&client->view.facts);
    bird_poll_done(&client->poll);
    free(client->path);
    free(client);
}
