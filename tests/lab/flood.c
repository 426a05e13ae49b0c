// SPDX-License-Identifier: Apache-2.0
/*
 * What a path costs, for benchmarks:
 *
 *   flood udp    ADDRESS PORT SECONDS   sends small datagrams of one flow as fast as they go
 *   flood rate   ADDRESS PORT SECONDS   connects and resets, one connection after the other
 *   flood stream ADDRESS PORT SECONDS   sends bytes of one TCP connection as fast as they go
 *   flood first  ADDRESS PORT SECONDS   asks one datagram of each of many new flows
 *   flood accept ADDRESS PORT SECONDS   the other side of "rate": accepts and closes
 *
 * A line of JSON: how many (datagrams, connections, bytes, answers), in which time, what failed,
 * and the median and the 99th percentile of the time that one of them took: 64 datagrams, one
 * connection, one answer. The median does not mind who else wants the processor now and then. On
 * veth a sent packet goes all the way in the sender's own time, so that this is the cost of the
 * whole path.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, SIZE = 64, CHUNK = 1 << 18, SAMPLES = 1 << 20, PATIENCE_MS = 1000 };

static struct sockaddr_storage target;
static socklen_t target_size;
static uint64_t done, failed;
static double *samples;
static size_t sample_count;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int open_socket(int type)
{
    int fd = socket(target.ss_family, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&target, target_size) < 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

static void note(double begin)
{
    if (sample_count < SAMPLES)
        samples[sample_count++] = now_s() - begin;
}

static void run_udp(double end)
{
    static char data[SIZE];
    static struct iovec parts[BATCH];
    static struct mmsghdr batch[BATCH];
    int fd = open_socket(SOCK_DGRAM);
    for (int i = 0; i < BATCH; i++) {
        parts[i] = (struct iovec){ data, sizeof data };
        batch[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i], .msg_iovlen = 1 };
    }
    for (double begin; (begin = now_s()) < end;) {
        int n = sendmmsg(fd, batch, BATCH, 0);
        done += n > 0 ? (uint64_t)n : 0;
        failed += n <= 0;
        if (n == BATCH)
            note(begin);
    }
}

static void run_rate(double end)
{
    struct linger at_once = { .l_onoff = 1 };
    struct timeval patience = { .tv_usec = 200000 };
    for (double begin; (begin = now_s()) < end;) {
        int fd = socket(target.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        bool connected = connect(fd, (struct sockaddr *)&target, target_size) == 0;
        close(fd);
        if (connected)
            note(begin);
        done += connected;
        failed += !connected;
    }
}

static void run_stream(double end)
{
    static char data[CHUNK];
    int fd = open_socket(SOCK_STREAM);
    if (fd < 0 || send(fd, "sink\n", 5, MSG_NOSIGNAL) != 5) {
        failed++;
        return;
    }
    while (now_s() < end) {
        ssize_t n = send(fd, data, sizeof data, MSG_NOSIGNAL);
        if (n < 0) {
            failed++;
            return;
        }
        done += (uint64_t)n;
    }
}

static void run_first(double end)
{
    char answer[256];
    while (now_s() < end) {
        int fd = open_socket(SOCK_DGRAM);
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        double begin = now_s();
        if (fd >= 0 && send(fd, "who", 3, 0) == 3 && poll(&wait, 1, PATIENCE_MS) == 1 &&
            recv(fd, answer, sizeof answer, 0) > 0) {
            note(begin);
            done++;
        } else {
            failed++;
        }
        close(fd);
    }
}

static void run_accept(double end)
{
    int one = 1, listener = socket(target.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&target, target_size) < 0 || listen(listener, 4096) < 0) {
        perror("flood");
        exit(1);
    }
    while (now_s() < end) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        done += fd >= 0;
        close(fd);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool set_target(const char *address, const char *port)
{
    struct sockaddr_in *four = (void *)&target;
    struct sockaddr_in6 *six = (void *)&target;
    uint16_t number = htons((uint16_t)atoi(port));
    if (inet_pton(AF_INET, address, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = number;
        target_size = sizeof *four;
        return true;
    }
    six->sin6_family = AF_INET6;
    six->sin6_port = number;
    target_size = sizeof *six;
    return inet_pton(AF_INET6, address, &six->sin6_addr) == 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(double end);
    } kinds[] = { { "udp", run_udp },
                  { "rate", run_rate },
                  { "stream", run_stream },
                  { "first", run_first },
                  { "accept", run_accept } };
    if (argc != 5 || !set_target(argv[2], argv[3]))
        return 64;
    samples = calloc(SAMPLES, sizeof *samples);
    double begin = now_s();
    for (size_t i = 0; samples && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            kinds[i].run(begin + atof(argv[4]));
    double took = now_s() - begin;
    qsort(samples, sample_count, sizeof *samples, by_size);
    printf("{\"done\": %llu, \"failed\": %llu, \"seconds\": %.6f", (unsigned long long)done,
           (unsigned long long)failed, took);
    if (sample_count)
        printf(", \"p50Us\": %.2f, \"p99Us\": %.2f", samples[sample_count / 2] * 1e6,
               samples[sample_count * 99 / 100] * 1e6);
    puts("}");
    return 0;
}
