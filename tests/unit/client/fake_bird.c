// SPDX-License-Identifier: Apache-2.0
/* A BIRD that follows a script. */
#include "fake_bird.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmocka_all.h"

void fake_bird_say(struct fake_bird *bird, const char *bytes)
{
    assert_true(bird->peer >= 0);
    size_t size = strlen(bytes);
    assert_int_equal(send(bird->peer, bytes, size, MSG_NOSIGNAL), size);
}

void fake_bird_hang_up(struct fake_bird *bird)
{
    bird->peer_source = sd_event_source_disable_unref(bird->peer_source);
    if (bird->peer >= 0)
        close(bird->peer);
    bird->peer = -1;
}

static void take_command(struct fake_bird *bird, const char *command)
{
    text_addf(&bird->heard, "%s\n", command);
    const char *reply = bird->answer ? bird->answer(command, bird->context) : NULL;
    if (reply && *reply)
        fake_bird_say(bird, reply);
    else if (reply)
        fake_bird_hang_up(bird);
}

/* The client sends one command at a time, in one piece. */
static int on_peer(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source, (void)events;
    struct fake_bird *bird = userdata;
    char buffer[1024];
    ssize_t size = recv(fd, buffer, sizeof(buffer) - 1, 0);
    if (size <= 0) {
        fake_bird_hang_up(bird);
        return 0;
    }
    buffer[size] = '\0';
    char *end = strchr(buffer, '\n');
    assert_non_null(end);
    assert_int_equal(end[1], '\0');
    *end = '\0';
    take_command(bird, buffer);
    return 0;
}

static int on_listener(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source, (void)events;
    struct fake_bird *bird = userdata;
    fake_bird_hang_up(bird);
    bird->peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(bird->peer >= 0);
    bird->connections++;
    assert_true(
        sd_event_add_io(bird->event, &bird->peer_source, bird->peer, EPOLLIN, on_peer, bird) >= 0);
    if (bird->greeting && *bird->greeting)
        fake_bird_say(bird, bird->greeting);
    else if (bird->greeting)
        fake_bird_hang_up(bird);
    return 0;
}

void fake_bird_init(struct fake_bird *bird, sd_event *event)
{
    *bird = (struct fake_bird){ .event = event, .listener = -1, .peer = -1 };
    strcpy(bird->directory, "/tmp/test_bird.XXXXXX");
    assert_non_null(mkdtemp(bird->directory));
    assert_true(snprintf(bird->path, sizeof(bird->path), "%s/ctl", bird->directory) > 0);
}

void fake_bird_start(struct fake_bird *bird)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strcpy(address.sun_path, bird->path);
    assert_true(unlink(bird->path) == 0 || errno == ENOENT);
    bird->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(bird->listener >= 0);
    assert_int_equal(bind(bird->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(bird->listener, 8), 0);
    assert_true(sd_event_add_io(bird->event, &bird->listen_source, bird->listener, EPOLLIN,
                                on_listener, bird) >= 0);
}

void fake_bird_kill(struct fake_bird *bird)
{
    fake_bird_hang_up(bird);
    bird->listen_source = sd_event_source_disable_unref(bird->listen_source);
    if (bird->listener >= 0)
        close(bird->listener);
    bird->listener = -1;
}

void fake_bird_done(struct fake_bird *bird)
{
    fake_bird_kill(bird);
    (void)unlink(bird->path);
    assert_int_equal(rmdir(bird->directory), 0);
    text_done(&bird->heard);
}
