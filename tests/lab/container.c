// SPDX-License-Identifier: Apache-2.0
/*
 * What the containers of tests run, linked statically: their images hold nothing else. Called
 * "pause" it is a sandbox's first process: it waits to be ended, and reaps what is left to it.
 * Called "web" it is a server of one page on port 80, which names the pod and its node:
 * "HOSTNAME on $NODE".
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PORT = 80, ROOM = 512, NAME = 128 };

static void end(int number)
{
    (void)number;
    _exit(0);
}

static void rest(void)
{
    for (;;) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        pause();
    }
}

static void wake(int number)
{
    (void)number;
}

static int listen_on(uint16_t port)
{
    struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 128) < 0) {
        perror("web");
        exit(1);
    }
    return fd;
}

/* One request, of which nothing matters but its end, is answered by the page. */
static void answer(int fd, const char *page)
{
    char text[ROOM];
    ssize_t length = read(fd, text, sizeof(text));

    if (length > 0) {
        length = snprintf(text, sizeof(text), "HTTP/1.0 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
                          strlen(page), page);
        length = write(fd, text, (size_t)length);
    }
    shutdown(fd, SHUT_WR);
    close(fd);
}

static void serve(void)
{
    char name[NAME] = "", page[NAME * 2];
    const char *node = getenv("NODE");
    int fd = listen_on(PORT);

    gethostname(name, sizeof(name) - 1);
    snprintf(page, sizeof(page), node ? "%s on %s\n" : "%s\n", name, node);
    for (;;) {
        int client = accept(fd, NULL, NULL);

        if (client >= 0)
            answer(client, page);
    }
}

int main(int count, char **words)
{
    const char *called = strrchr(words[0], '/');

    (void)count;
    signal(SIGTERM, end);
    signal(SIGINT, end);
    signal(SIGCHLD, wake);
    signal(SIGPIPE, SIG_IGN);
    called = called ? called + 1 : words[0];
    if (strcmp(called, "web") == 0)
        serve();
    rest();
}
