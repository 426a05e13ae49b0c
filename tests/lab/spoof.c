// SPDX-License-Identifier: Apache-2.0
/*
 * TCP segments and datagrams of somebody who is not there, or who speaks in another's name:
 *
 *   spoof KIND SOURCE SOURCES PORT PORTS ADDRESS TO COUNT RATE
 *
 * From SOURCES addresses, of which SOURCE is the first, and PORTS ports from PORT on, taken at
 * random, to ADDRESS and its port TO. Of KIND "syn" each opens a connection; "guess" is a RST, FIN,
 * SYN or ACK, with or without data. Sequence numbers are random. Of "udp" each is an empty
 * datagram, sent twice. Where TO is 0, it is a port at random, too. COUNT of them, RATE a second;
 * 0: as fast as they go. A line of JSON tells how many were sent, and how many the kernel refused.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { DATA = 8, HOPS = 64, WINDOW = 65535 };

/* An address of either family: IPv4 in the last four bytes. */
struct end {
    uint8_t bytes[16];
};

static bool six, datagrams;
static uint64_t chance = 88172645463325252ull;

static uint32_t random32(void)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (uint32_t)(chance >> 16);
}

static bool parse(const char *text, struct end *end)
{
    memset(end, 0, sizeof *end);
    six = strchr(text, ':');
    return inet_pton(six ? AF_INET6 : AF_INET, text, end->bytes + (six ? 0 : 12)) == 1;
}

static uint32_t sum(const void *data, size_t size)
{
    const uint8_t *bytes = data;
    uint32_t total = 0;
    for (size_t i = 0; i < size; i++)
        total += (uint32_t)bytes[i] << (i % 2 ? 0 : 8);
    return total;
}

static struct end one_of(const struct end *first, uint32_t count)
{
    struct end end = *first;
    uint32_t tail;
    memcpy(&tail, end.bytes + 12, sizeof tail);
    tail = htonl(ntohl(tail) + random32() % count);
    memcpy(end.bytes + 12, &tail, sizeof tail);
    return end;
}

static void set_flags(struct tcphdr *tcp, bool guess)
{
    static const uint8_t guesses[] = { TH_RST,          TH_RST | TH_ACK, TH_FIN | TH_ACK,
                                       TH_SYN | TH_ACK, TH_SYN,          TH_ACK };
    tcp->th_flags = guess ? guesses[random32() % sizeof guesses] : TH_SYN;
    tcp->th_seq = random32();
    tcp->th_ack = tcp->th_flags & TH_ACK ? random32() : 0;
}

/* Fills the segment in behind room for either header. Returns its size. */
static size_t make_tcp(uint8_t *at, const struct end *from, uint16_t port, const struct end *to,
                       uint16_t to_port, bool guess)
{
    struct tcphdr tcp = {
        .th_sport = htons(port), .th_dport = htons(to_port), .th_off = 5, .th_win = htons(WINDOW)
    };
    set_flags(&tcp, guess);
    size_t size = sizeof tcp + (tcp.th_flags == TH_ACK ? DATA : 0);
    uint32_t total = sum(from, sizeof *from) + sum(to, sizeof *to) + IPPROTO_TCP + (uint32_t)size +
                     sum(&tcp, sizeof tcp);
    while (total >> 16)
        total = (total & 0xffff) + (total >> 16);
    tcp.th_sum = htons((uint16_t)~total);
    memset(at, 0, size);
    memcpy(at, &tcp, sizeof tcp);
    return size;
}

/* IPv6 has no datagrams without a checksum; of an empty one its length counts twice. */
static size_t make_udp(uint8_t *at, const struct end *from, uint16_t port, const struct end *to,
                       uint16_t to_port)
{
    struct udphdr udp = { .uh_sport = htons(port),
                          .uh_dport = htons(to_port),
                          .uh_ulen = htons(sizeof udp) };
    uint32_t total = sum(from, sizeof *from) + sum(to, sizeof *to) + IPPROTO_UDP +
                     (uint32_t)sizeof udp + sum(&udp, sizeof udp);
    while (total >> 16)
        total = (total & 0xffff) + (total >> 16);
    udp.uh_sum = htons((uint16_t)(total == 0xffff ? total : ~total));
    memcpy(at, &udp, sizeof udp);
    return sizeof udp;
}

static size_t make(uint8_t *packet, const struct end *from, uint16_t port, const struct end *to,
                   uint16_t to_port, bool guess)
{
    size_t head = six ? sizeof(struct ip6_hdr) : sizeof(struct ip);
    size_t size = datagrams ? make_udp(packet + head, from, port, to, to_port)
                            : make_tcp(packet + head, from, port, to, to_port, guess);
    uint8_t protocol = datagrams ? IPPROTO_UDP : IPPROTO_TCP;
    if (six) {
        struct ip6_hdr ip = { .ip6_flow = htonl(6u << 28),
                              .ip6_plen = htons((uint16_t)size),
                              .ip6_nxt = protocol,
                              .ip6_hlim = HOPS };
        memcpy(&ip.ip6_src, from, sizeof *from);
        memcpy(&ip.ip6_dst, to, sizeof *to);
        memcpy(packet, &ip, sizeof ip);
    } else {
        struct ip ip = { .ip_v = 4,
                         .ip_hl = 5,
                         .ip_ttl = HOPS,
                         .ip_p = protocol,
                         .ip_len = htons((uint16_t)(head + size)) }; /* the kernel does the rest */
        memcpy(&ip.ip_src, from->bytes + 12, 4);
        memcpy(&ip.ip_dst, to->bytes + 12, 4);
        memcpy(packet, &ip, sizeof ip);
    }
    return head + size;
}

static bool send_to(int fd, const struct end *to, const uint8_t *packet, size_t size)
{
    struct sockaddr_in6 to6 = { .sin6_family = AF_INET6 };
    struct sockaddr_in to4 = { .sin_family = AF_INET };
    memcpy(&to6.sin6_addr, to, sizeof *to);
    memcpy(&to4.sin_addr, to->bytes + 12, 4);
    const struct sockaddr *where = six ? (const void *)&to6 : (const void *)&to4;
    return sendto(fd, packet, size, 0, where, six ? sizeof to6 : sizeof to4) == (ssize_t)size;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits until the packet of this number is due. */
static void pace(uint64_t begin, uint64_t number, uint64_t rate)
{
    uint64_t due = rate ? begin + number * 1000000000u / rate : 0, now = now_ns();
    if (due <= now)
        return;
    struct timespec rest = { (time_t)((due - now) / 1000000000u),
                             (long)((due - now) % 1000000000u) };
    nanosleep(&rest, NULL);
}

int main(int argc, char **argv)
{
    struct end first, to;
    uint8_t packet[128];
    uint64_t sent = 0, failed = 0, begin = now_ns();
    if (argc != 10 || !parse(argv[2], &first) || !parse(argv[6], &to))
        return 64;
    bool guess = strcmp(argv[1], "guess") == 0;
    datagrams = strcmp(argv[1], "udp") == 0;
    uint32_t to_port = (uint32_t)atoi(argv[7]);
    uint32_t sources = (uint32_t)atoi(argv[3]), ports = (uint32_t)atoi(argv[5]);
    uint64_t count = strtoull(argv[8], NULL, 10), rate = strtoull(argv[9], NULL, 10);
    int fd = socket(six ? AF_INET6 : AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
    if (fd < 0) {
        perror("spoof");
        return 1;
    }
    for (uint64_t i = 0; i < count; i++) {
        pace(begin, i, rate);
        struct end from = one_of(&first, sources);
        uint16_t port = (uint16_t)((uint32_t)atoi(argv[4]) + random32() % ports);
        uint16_t there = (uint16_t)(to_port ? to_port : 1 + random32() % 65535);
        size_t size = make(packet, &from, port, &to, there, guess);
        bool went = send_to(fd, &to, packet, size);
        if (datagrams)
            went &= send_to(fd, &to, packet, size);
        sent += went;
        failed += !went;
    }
    printf("{\"sent\": %llu, \"failed\": %llu, \"seconds\": %.3f}\n", (unsigned long long)sent,
           (unsigned long long)failed, (double)(now_ns() - begin) / 1e9);
    return 0;
}
