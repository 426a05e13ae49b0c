// SPDX-License-Identifier: Apache-2.0
/*
 * Clients that never tire, and remember what went wrong:
 *
 *   load short ADDRESS PORT  connects, asks echo.c's "who", closes; again at once, or after -i MS
 *   load long ADDRESS PORT   connections that stay, each asked "who" every -i MS (10)
 *   load udp ADDRESS PORT    connected sockets, each asked every -i MS
 *
 * With -c N, so many clients (short) or connections at once.
 *
 * A line of JSON tells every 100 ms what was seen so far; after SIGTERM or -s SECONDS the last one
 * does, with "end". Errors are named by what was being done: "connect ECONNREFUSED". An answer from
 * another server than the connection's first is the error "moved", of connections that stay.
 *
 * What takes longer than LATE_MS and was sent again by the kernel was lost on its way: a wait,
 * though the connection came about. What nobody sent again stood still with the machine: a stall.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KINDS = 32, WORD = 64, ANSWER = 256, TIMEOUT_MS = 5000, LATE_MS = 900 };

/* How often which word was seen. */
struct tally {
    struct {
        char word[WORD];
        uint64_t count;
    } of[KINDS];
};

static struct {
    pthread_mutex_t lock;
    uint64_t done;
    double slowest_ms;
    struct tally errors, waits, stalls, names;
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct sockaddr_storage target;
static socklen_t target_size;
static unsigned connections = 1, pending;
static int interval_ms = -1;
static volatile sig_atomic_t ended;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void count(struct tally *tally, const char *word)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (!tally->of[i].word[0])
            snprintf(tally->of[i].word, WORD, "%s", word);
        if (strcmp(tally->of[i].word, word) == 0) {
            tally->of[i].count++;
            return;
        }
    }
}

static void count_error(const char *doing, int error)
{
    char word[WORD];
    snprintf(word, sizeof word, "%s%s%s", doing, error ? " " : "",
             error ? strerrorname_np(error) : "");
    pthread_mutex_lock(&seen.lock);
    count(&seen.errors, word);
    pthread_mutex_unlock(&seen.lock);
}

/*
 * How often the kernel had to send anything of a connection again; 0 for datagrams. What the other
 * side says it had already (DSACK, RFC 2883) was not lost but slow.
 */
static int sent_again(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return 0;
    return (int)info.tcpi_total_retrans - (int)info.tcpi_dsack_dups;
}

/* With the lock held. What was late is remembered with how late, in tenths of a second. */
static void count_time(const char *doing, double took_ms, int again)
{
    if (took_ms > seen.slowest_ms)
        seen.slowest_ms = took_ms;
    if (took_ms <= LATE_MS)
        return;
    char word[WORD];
    snprintf(word, sizeof word, "%s %.1f s", doing, took_ms / 1e3);
    count(again > 0 ? &seen.waits : &seen.stalls, word);
}

/* The answer's first word is who gave it. */
static void count_answer(const char *answer, double took_ms, int again)
{
    char word[WORD] = "";
    sscanf(answer, "%63s", word);
    pthread_mutex_lock(&seen.lock);
    seen.done++;
    count_time("answer", took_ms, again);
    count(&seen.names, word);
    pthread_mutex_unlock(&seen.lock);
}

static void print_tally(const char *name, const struct tally *tally)
{
    printf(", \"%s\": {", name);
    for (size_t i = 0; i < KINDS && tally->of[i].word[0]; i++)
        printf("%s\"%s\": %llu", i ? ", " : "", tally->of[i].word,
               (unsigned long long)tally->of[i].count);
    printf("}");
}

static void report(bool end)
{
    pthread_mutex_lock(&seen.lock);
    printf("{\"done\": %llu, \"slowestMs\": %.3f, \"pending\": %u", (unsigned long long)seen.done,
           seen.slowest_ms, pending);
    print_tally("errors", &seen.errors);
    print_tally("waits", &seen.waits);
    print_tally("stalls", &seen.stalls);
    print_tally("names", &seen.names);
    printf(", \"end\": %s}\n", end ? "true" : "false");
    pthread_mutex_unlock(&seen.lock);
    fflush(stdout);
}

/* Connects within the time; -errno, or the socket. */
static int open_connection(int type)
{
    int one = 1, error = 0;
    socklen_t size = sizeof error;
    int fd = socket(target.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (type == SOCK_STREAM)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (struct sockaddr *)&target, target_size) < 0)
        error = errno;
    if (error == EINPROGRESS) {
        struct pollfd wait = { .fd = fd, .events = POLLOUT };
        error = ETIMEDOUT;
        if (poll(&wait, 1, TIMEOUT_MS) == 1)
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (!error)
        return fd;
    close(fd);
    return -error;
}

/* Reads one answer: a line of TCP, a datagram of UDP. Returns its length, or -errno; 0: the end. */
static int read_answer(int fd, char *answer, bool stream)
{
    size_t have = 0;
    while (have < ANSWER - 1) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        if (poll(&wait, 1, TIMEOUT_MS) != 1)
            return -ETIMEDOUT;
        ssize_t n = recv(fd, answer + have, ANSWER - 1 - have, 0);
        if (n < 0)
            return -errno;
        have += (size_t)n;
        answer[have] = 0;
        if (n == 0 || !stream || strchr(answer, '\n'))
            break;
    }
    return (int)have;
}

/* Asks and counts what comes. False if it failed. */
static bool ask(int fd, const char *question, bool stream, char answer[static ANSWER])
{
    double begin = now_ms();
    int before = sent_again(fd);
    if (send(fd, question, strlen(question), MSG_NOSIGNAL) < 0) {
        count_error("send", errno);
        return false;
    }
    int n = read_answer(fd, answer, stream);
    if (n <= 0) {
        count_error(n == 0 ? "closed" : "receive", -n);
        return false;
    }
    double took_ms = now_ms() - begin;
    count_answer(answer, took_ms, took_ms > LATE_MS ? sent_again(fd) - before : 0);
    return true;
}

/* Counts how long a step took that began at begin_ms, when the kernel had sent `before` again. */
static void count_step(const char *doing, double begin_ms, int fd, int before)
{
    double took_ms = now_ms() - begin_ms;
    int again = took_ms > LATE_MS ? sent_again(fd) - before : 0;
    pthread_mutex_lock(&seen.lock);
    count_time(doing, took_ms, again);
    pthread_mutex_unlock(&seen.lock);
}

/* Closes first, so that it is this side that keeps the port for a while. */
static void finish(int fd)
{
    char rest[ANSWER];
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    double begin = now_ms();
    int before = sent_again(fd);
    shutdown(fd, SHUT_WR);
    if (poll(&wait, 1, TIMEOUT_MS) != 1)
        count_error("finish", ETIMEDOUT);
    else if (recv(fd, rest, sizeof rest, 0) < 0)
        count_error("finish", errno);
    else
        count_step("finish", begin, fd, before);
    close(fd);
}

static void *run_short(void *argument)
{
    char answer[ANSWER];
    while (!ended) {
        double begin = now_ms();
        int fd = open_connection(SOCK_STREAM);
        if (fd < 0) {
            count_error("connect", -fd);
            continue;
        }
        count_step("connect", begin, fd, 0);
        if (ask(fd, "who\n", true, answer))
            finish(fd);
        else
            close(fd);
        if (interval_ms > 0)
            usleep((unsigned)interval_ms * 1000);
    }
    return argument;
}

/* Opens all sockets, then asks one after the other, again and again. */
static void run_lasting(bool stream)
{
    int *sockets = calloc(connections, sizeof *sockets);
    char(*names)[WORD] = calloc(connections, sizeof *names);
    if (!sockets || !names)
        exit(1);
    for (unsigned i = 0; i < connections; i++) {
        sockets[i] = open_connection(stream ? SOCK_STREAM : SOCK_DGRAM);
        if (sockets[i] < 0)
            count_error("connect", -sockets[i]);
    }
    while (!ended) {
        for (unsigned i = 0; i < connections && !ended; i++) {
            char answer[ANSWER] = "", who[WORD] = "";
            if (sockets[i] < 0)
                continue;
            if (ask(sockets[i], "who\n", stream, answer)) {
                sscanf(answer, "%63s", who);
                if (names[i][0] && strcmp(names[i], who) != 0)
                    count_error("moved", 0);
                memcpy(names[i], who, WORD);
            } else if (stream) {
                close(sockets[i]);
                sockets[i] = -1;
            }
        }
        pending = 0;
        for (unsigned i = 0; i < connections; i++)
            pending += sockets[i] >= 0;
        usleep((interval_ms < 0 ? 10 : (unsigned)interval_ms) * 1000);
    }
}

static void *run_long(void *argument)
{
    run_lasting(true);
    return argument;
}

static void *run_udp(void *argument)
{
    run_lasting(false);
    return argument;
}

static void end(int signal)
{
    (void)signal;
    ended = 1;
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
    double seconds = 0;
    if (argc < 4 || !set_target(argv[2], argv[3]))
        return 64;
    bool is_short = strcmp(argv[1], "short") == 0;
    void *(*run)(void *) = is_short ? run_short : strcmp(argv[1], "udp") ? run_long : run_udp;
    for (int option; (option = getopt(argc - 3, argv + 3, "c:i:s:")) != -1;) {
        if (option == 'c')
            connections = (unsigned)atoi(optarg);
        else if (option == 'i')
            interval_ms = atoi(optarg);
        else if (option == 's')
            seconds = atof(optarg);
        else
            return 64;
    }
    signal(SIGTERM, end);
    signal(SIGINT, end);
    unsigned count = is_short ? connections : 1;
    pthread_t *threads = calloc(count, sizeof *threads);
    for (unsigned i = 0; i < count; i++)
        if (!threads || pthread_create(&threads[i], NULL, run, NULL) != 0)
            return 1;
    for (double begin = now_ms(); !ended; report(false)) {
        usleep(100000);
        if (seconds > 0 && now_ms() - begin > seconds * 1e3)
            ended = 1;
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    report(true);
    return 0;
}
