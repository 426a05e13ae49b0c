// SPDX-License-Identifier: Apache-2.0
/*
 * A server that says who it is and whom it sees: echo NAME PORT..., TCP and UDP, IPv4 and IPv6. A
 * port "sctp:8080" is one of SCTP alone, which is asked as TCP is.
 *
 * Over TCP it is asked by lines: "who" is answered by "NAME PEER PORT LOCAL PORT", "bye" by the
 * same and the end of the connection, "get N" by N bytes, "put N" and N bytes by "NAME N DIGEST",
 * "sink" by nothing: all that follows is read and forgotten. A UDP datagram is answered from the
 * address that it was sent to, by "NAME PEER PORT LOCAL PORT LENGTH DIGEST", or by N bytes if it is
 * "get N".
 *
 * A thread per connection: what is measured against it is never its own speed alone. It says "up"
 * on its standard output when all ports are open.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DATAGRAM_MAX = 65507, CHUNK = 65536, ROOM = 256, STACK = 256 * 1024 };

static const char *name;

static uint64_t digest(uint64_t hash, const uint8_t *data, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ data[i]) * 0x100000001b3ull;
    return hash;
}

static const uint64_t DIGEST_START = 0xcbf29ce484222325ull;

/* Byte `at` of what "get" answers. */
static uint8_t pattern(uint64_t at)
{
    return (uint8_t)(at * 2654435761u >> 13);
}

/* An address as people write it: IPv4 is not mapped. */
static void say_address(char *text, size_t size, const struct in6_addr *address)
{
    if (IN6_IS_ADDR_V4MAPPED(address))
        inet_ntop(AF_INET, &address->s6_addr[12], text, (socklen_t)size);
    else
        inet_ntop(AF_INET6, address, text, (socklen_t)size);
}

static int say_who(char *text, size_t size, const struct sockaddr_in6 *peer,
                   const struct in6_addr *local, uint16_t port)
{
    char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];
    say_address(from, sizeof from, &peer->sin6_addr);
    say_address(to, sizeof to, local);
    return snprintf(text, size, "%s %s %u %s %u", name, from, ntohs(peer->sin6_port), to, port);
}

static bool send_all(int fd, const void *data, size_t length)
{
    for (const char *at = data; length;) {
        ssize_t n = send(fd, at, length, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        at += n;
        length -= (size_t)n;
    }
    return true;
}

static bool answer_who(int fd)
{
    struct sockaddr_in6 peer = { 0 }, local = { 0 };
    socklen_t peer_size = sizeof peer, local_size = sizeof local;
    char text[ROOM];
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) < 0 ||
        getsockname(fd, (struct sockaddr *)&local, &local_size) < 0)
        return false;
    int n = say_who(text, sizeof text - 1, &peer, &local.sin6_addr, ntohs(local.sin6_port));
    text[n] = '\n';
    return send_all(fd, text, (size_t)n + 1);
}

static bool answer_get(int fd, uint64_t length)
{
    uint8_t chunk[CHUNK];
    for (uint64_t at = 0; at < length;) {
        size_t n = length - at < sizeof chunk ? (size_t)(length - at) : sizeof chunk;
        for (size_t i = 0; i < n; i++)
            chunk[i] = pattern(at + i);
        if (!send_all(fd, chunk, n))
            return false;
        at += n;
    }
    return true;
}

static bool answer_put(int fd, FILE *input, uint64_t length)
{
    uint8_t chunk[CHUNK];
    uint64_t hash = DIGEST_START;
    for (uint64_t left = length; left;) {
        size_t n = fread(chunk, 1, left < sizeof chunk ? (size_t)left : sizeof chunk, input);
        if (n == 0)
            return false;
        hash = digest(hash, chunk, n);
        left -= n;
    }
    char text[ROOM];
    int n = snprintf(text, sizeof text, "%s %llu %016llx\n", name, (unsigned long long)length,
                     (unsigned long long)hash);
    return send_all(fd, text, (size_t)n);
}

/* Reads to the end. */
static bool sink(FILE *input)
{
    uint8_t chunk[CHUNK];
    while (fread(chunk, 1, sizeof chunk, input) > 0)
        ;
    return false;
}

/* True while there may be another line. */
static bool answer(int fd, FILE *input, const char *line)
{
    unsigned long long length;
    if (strcmp(line, "who\n") == 0)
        return answer_who(fd);
    if (strcmp(line, "bye\n") == 0)
        return answer_who(fd) && false;
    if (strcmp(line, "sink\n") == 0)
        return sink(input);
    if (sscanf(line, "get %llu", &length) == 1)
        return answer_get(fd, length);
    if (sscanf(line, "put %llu", &length) == 1)
        return answer_put(fd, input, length);
    return false;
}

static void *serve_connection(void *argument)
{
    int fd = (int)(intptr_t)argument, one = 1;
    char line[ROOM];
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    FILE *input = fdopen(fd, "r");
    while (input && fgets(line, sizeof line, input) && answer(fd, input, line))
        ;
    if (input)
        fclose(input);
    else
        close(fd);
    return NULL;
}

static void *serve_stream(void *argument)
{
    int listener = (int)(intptr_t)argument;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    for (;;) {
        pthread_t thread;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && pthread_create(&thread, &small, serve_connection, (void *)(intptr_t)fd) != 0)
            close(fd);
    }
    return NULL;
}

/* The address that a datagram was sent to. */
static struct in6_addr sent_to(struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
        if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO)
            return ((struct in6_pktinfo *)(void *)CMSG_DATA(c))->ipi6_addr;
    return in6addr_any;
}

static size_t answer_datagram(uint8_t *data, size_t length, const struct sockaddr_in6 *peer,
                              const struct in6_addr *local, uint16_t port)
{
    unsigned long long wanted;
    data[length] = 0;
    if (sscanf((char *)data, "get %llu", &wanted) == 1 && wanted <= DATAGRAM_MAX) {
        for (size_t i = 0; i < wanted; i++)
            data[i] = pattern(i);
        return (size_t)wanted;
    }
    uint64_t hash = digest(DIGEST_START, data, length);
    int n = say_who((char *)data, ROOM, peer, local, port);
    n += snprintf((char *)data + n, ROOM, " %zu %016llx", length, (unsigned long long)hash);
    return (size_t)n;
}

struct udp {
    int fd;
    uint16_t port;
};

static void *serve_udp(void *argument)
{
    const struct udp *udp = argument;
    uint8_t *data = malloc(DATAGRAM_MAX + ROOM * 2);
    while (data) {
        struct sockaddr_in6 peer;
        uint8_t control[CMSG_SPACE(sizeof(struct in6_pktinfo)) * 2];
        struct iovec part = { .iov_base = data, .iov_len = DATAGRAM_MAX };
        struct msghdr message = { .msg_name = &peer,
                                  .msg_namelen = sizeof peer,
                                  .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof control };
        ssize_t n = recvmsg(udp->fd, &message, 0);
        if (n < 0)
            continue;
        struct in6_addr local = sent_to(&message);
        part.iov_len = answer_datagram(data, (size_t)n, &peer, &local, udp->port);
        /* The same control message says from where to answer; the device is the routes' to say. */
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        if (c && c->cmsg_type == IPV6_PKTINFO)
            ((struct in6_pktinfo *)(void *)CMSG_DATA(c))->ipi6_ifindex = 0;
        if (sendmsg(udp->fd, &message, 0) < 0)
            fprintf(stderr, "%s: answer over UDP: %s\n", name, strerror(errno));
    }
    return NULL;
}

static int open_socket(int type, int protocol, uint16_t port)
{
    struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    int one = 1, zero = 0, fd = socket(AF_INET6, type | SOCK_CLOEXEC, protocol);
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (type == SOCK_DGRAM) {
        int room = 1 << 20;
        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &one, sizeof one);
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    }
    if (bind(fd, (struct sockaddr *)&any, sizeof any) < 0 ||
        (type == SOCK_STREAM && listen(fd, 4096) < 0)) {
        perror("echo");
        exit(1);
    }
    return fd;
}

static bool open_stream(int protocol, uint16_t port)
{
    pthread_t thread;
    int fd = open_socket(SOCK_STREAM, protocol, port);
    return pthread_create(&thread, NULL, serve_stream, (void *)(intptr_t)fd) == 0;
}

static bool open_port(const char *word)
{
    static const char sctp[] = "sctp:";
    if (strncmp(word, sctp, sizeof sctp - 1) == 0)
        return open_stream(IPPROTO_SCTP, (uint16_t)atoi(word + sizeof sctp - 1));
    uint16_t port = (uint16_t)atoi(word);
    pthread_t thread;
    struct udp *udp = malloc(sizeof *udp);
    if (!udp)
        return false;
    *udp = (struct udp){ .fd = open_socket(SOCK_DGRAM, 0, port), .port = port };
    return open_stream(0, port) && pthread_create(&thread, NULL, serve_udp, udp) == 0;
}

int main(int count, char **words)
{
    if (count < 3)
        return 64;
    name = words[1];
    signal(SIGPIPE, SIG_IGN);
    for (int i = 2; i < count; i++)
        if (!open_port(words[i]))
            return 1;
    puts("up");
    fflush(stdout);
    for (;;)
        pause();
}
