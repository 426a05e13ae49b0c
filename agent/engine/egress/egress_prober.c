// SPDX-License-Identifier: Apache-2.0
/*
 * Probing of gateways; see egress_prober.h. There is a socket for each family, and one timer. When
 * it fires, pending answers are read first, so that an agent that was delayed does not take its own
 * absence for that of the gateways. Then each gateway is judged, and probed again.
 */
#include "engine/egress/egress_prober.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apply/egress/probe.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/net/socket_address.h"
#include "base/text.h"
#include "engine/egress/egress_probes.h"
#include "faults/egress.h"
#include "faults/raise.h"
#include "loop/timer.h"

struct egress_prober {
    struct probes probes;
    const struct config *config;
    int sockets[2]; /* IPv4, IPv6; -1: the kernel lacks the family */
    sd_event_source *sources[2];
    struct timer *timer;
    bool moved;
    void (*wake)(void *context);
    void *context;
};

static void tell(const struct probed_gateway *gateway)
{
    static const char *const words[] = {
        [PROBE_ALIVE] = "it answers again, and takes new flows",
        [PROBE_LEAVING] = "it takes no new flows any more: it is drained",
        [PROBE_GONE] = "it has withdrawn: its flows begin anew elsewhere",
        [PROBE_STALE] = "it learns of no new clients: new pods begin flows elsewhere",
        [PROBE_DOUBTED] = "it does not answer: new flows go elsewhere",
        [PROBE_LOST] = "it does not answer for long: its flows begin anew elsewhere",
    };
    char text[IP_STRLEN];
    if (words[gateway->verdict])
        log_notice("gateway %s: %s", ip_str(&gateway->address, text), words[gateway->verdict]);
}

static void note_moved(struct egress_prober *prober, const struct probed_gateway *gateway,
                       enum probe_verdict before)
{
    if (before != PROBE_UNKNOWN)
        tell(gateway);
    prober->moved = true;
    prober->wake(prober->context);
}

/* ---- hearing ---- */

static void hear(struct egress_prober *prober, const struct sockaddr_storage *from,
                 const uint8_t *bytes, size_t size)
{
    struct ip ip;
    uint16_t port;
    uint64_t cookie;
    enum egress_phase phase;
    socket_address_read(from, &ip, &port);
    if (port != prober->config->egress.port || !egress_probe_read(bytes, size, &cookie, &phase))
        return;
    enum probe_verdict before = probes_verdict(&prober->probes, &ip);
    if (!probes_hear(&prober->probes, &ip, cookie, phase, clock_mono_ms()))
        return;
    const struct probed_gateway gateway = {
        .address = ip,
        .verdict = probes_verdict(&prober->probes, &ip),
    };
    note_moved(prober, &gateway, before);
}

/* Reads all pending answers. Errors of the socket are ICMP errors to a request: no answer. */
static void read_answers(struct egress_prober *prober, int fd)
{
    enum { AT_ONCE = 4096 }; /* the rest is read in the next iteration of the loop */
    for (int i = 0; i < AT_ONCE; i++) {
        struct sockaddr_storage from;
        socklen_t size = sizeof(from);
        uint8_t answer[EGRESS_PROBE_SIZE];
        ssize_t length = recvfrom(fd, answer, sizeof(answer), MSG_DONTWAIT | MSG_TRUNC,
                                  (struct sockaddr *)&from, &size);
        if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (length > 0)
            hear(prober, &from, answer, (size_t)length);
    }
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source;
    (void)events;
    read_answers(userdata, fd);
    return 0;
}

/* ---- asking ---- */

static void ask(struct egress_prober *prober, struct probed_gateway *gateway)
{
    enum probe_verdict before = gateway->verdict;
    bool moved = false;
    struct sockaddr_storage to;
    const int fd = prober->sockets[gateway->address.family == IP_V6];
    uint8_t question[EGRESS_PROBE_SIZE];
    egress_probe_ask(probes_ask(gateway, &moved), question);
    socklen_t size =
        socket_address_of(&gateway->address, (uint16_t)prober->config->egress.port, &to);
    if (fd >= 0)
        (void)sendto(fd, question, sizeof(question), MSG_DONTWAIT, (struct sockaddr *)&to, size);
    if (moved)
        note_moved(prober, gateway, before);
}

static void arm(struct egress_prober *prober)
{
    int64_t least_ms = (int64_t)prober->probes.gateways.count * SECOND_MS / PROBES_A_SECOND;
    if (prober->probes.gateways.count)
        timer_arm(prober->timer, MAX(prober->config->egress.probe_ms, least_ms));
    else
        timer_disarm(prober->timer);
}

static void on_time(void *context)
{
    struct egress_prober *prober = context;
    for (size_t i = 0; i < ARRAY_SIZE(prober->sockets); i++) {
        if (prober->sockets[i] >= 0)
            read_answers(prober, prober->sockets[i]);
    }
    sorted_each(struct probed_gateway, gateway, &prober->probes.gateways)
        ask(prober, gateway);
    arm(prober);
}

/* ---- opening ---- */

static int open_socket(struct egress_prober *prober, sd_event *event, int family, size_t index)
{
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    prober->sockets[index] = fd;
    if (fd < 0)
        return errno == EAFNOSUPPORT ? 0 : -errno;
    return sd_event_add_io(event, &prober->sources[index], fd, EPOLLIN, on_answer, prober);
}

void egress_prober_free(struct egress_prober *prober)
{
    if (!prober)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(prober->sockets); i++) {
        sd_event_source_disable_unref(prober->sources[i]);
        if (prober->sockets[i] >= 0)
            (void)close(prober->sockets[i]);
    }
    timer_free(prober->timer);
    probes_done(&prober->probes);
    free(prober);
}

int egress_prober_new(const struct engine_setup *setup, struct egress_prober **ret_prober)
{
    CLEANUP(egress_prober_freep) struct egress_prober *prober = calloc(1, sizeof(*prober));
    if (!prober)
        return -ENOMEM;
    *prober = (struct egress_prober){
        .config = setup->config,
        .sockets = { -1, -1 },
        .wake = setup->wake,
        .context = setup->context,
    };
    probes_init(&prober->probes);
    int r = open_socket(prober, setup->event, AF_INET, 0);
    if (r >= 0)
        r = open_socket(prober, setup->event, AF_INET6, 1);
    if (r >= 0)
        r = timer_new(setup->event, SD_EVENT_PRIORITY_NORMAL, on_time, prober, &prober->timer);
    if (r < 0)
        return r;
    *ret_prober = TAKE_PTR(prober);
    return 0;
}

void egress_prober_configure(struct egress_prober *prober, const struct config *config)
{
    prober->config = config;
}

bool egress_prober_moved(const struct egress_prober *prober)
{
    return prober->moved;
}

/* ---- marking ---- */

static enum probe_verdict known_before(enum egress_gateway_memory memory)
{
    switch (memory) {
    case EGRESS_MEMORY_ANSWERED:
        return PROBE_ALIVE;
    case EGRESS_MEMORY_STALE:
        return PROBE_STALE;
    case EGRESS_MEMORY_SILENT:
        return PROBE_LOST;
    default:
        return PROBE_UNKNOWN;
    }
}

static int take_over(struct egress_prober *prober, const struct egress_datapath *datapath,
                     const struct egress_plan *plan)
{
    bool idle = prober->probes.gateways.count == 0;
    int r = 0;
    probes_begin_list(&prober->probes);
    sorted_each(struct egress_set *const, set, &plan->sets) {
        vec_each(const struct egress_gateway, gateway, &(*set)->gateways) {
            uint64_t secret = 0;
            if (getrandom(&secret, sizeof(secret), GRND_NONBLOCK) != sizeof(secret))
                r = -EAGAIN;
            if (r < 0)
                return r;
            r = probes_add(&prober->probes, &gateway->address,
                           known_before(egress_datapath_memory(datapath, &gateway->address)),
                           secret);
            if (r < 0)
                return r;
        }
    }
    probes_end_list(&prober->probes);
    if (idle && prober->probes.gateways.count)
        timer_arm(prober->timer, 0);
    return 0;
}

static bool is_silent(enum probe_verdict verdict)
{
    return verdict == PROBE_DOUBTED || verdict == PROBE_LOST;
}

/* Which other gateways there are that can do the work of those that can't. */
struct others {
    bool living; /* may take the packets that silent gateways get now */
    bool whole;  /* may take new pods */
};

static struct others find_others(const struct probes *probes, const struct egress_set *set)
{
    struct others others = { 0 };
    vec_each(const struct egress_gateway, gateway, &set->gateways) {
        enum probe_verdict verdict = probes_verdict(probes, &gateway->address);
        bool whole = verdict == PROBE_ALIVE || verdict == PROBE_UNKNOWN;
        if (gateway->state != EGRESS_ACTIVE)
            continue;
        others.whole |= whole;
        others.living |= whole || verdict == PROBE_STALE;
    }
    return others;
}

static void mark_gateway(struct egress_gateway *gateway, enum probe_verdict verdict,
                         const struct others *others)
{
    const bool other = others->living;
    gateway->answers = verdict != PROBE_UNKNOWN;
    if (gateway->state == EGRESS_AWAY)
        return;
    if (verdict == PROBE_GONE)
        gateway->state = EGRESS_WITHDRAWN;
    else if (verdict == PROBE_LOST && other)
        gateway->state = EGRESS_SILENT;
    else if (verdict == PROBE_DOUBTED && other && gateway->state == EGRESS_ACTIVE)
        gateway->state = EGRESS_DOUBTED;
    else if (verdict == PROBE_LEAVING)
        gateway->state = EGRESS_DRAINING;
    else if (verdict == PROBE_STALE && others->whole && gateway->state == EGRESS_ACTIVE)
        gateway->state = EGRESS_STALE;
}

static void tell_stale(const struct egress_gateway *gateway, const char *place, bool other,
                       struct faults *faults)
{
    char text[IP_STRLEN];
    ip_str(&gateway->address, text);
    if (other)
        fault_raise(faults, place, egress_gateway_stale, .gateway = text,
                    .seconds = EGRESS_STALE_S);
    else
        fault_raise(faults, place, egress_gateways_stale, .gateway = text,
                    .seconds = EGRESS_STALE_S);
}

static void mark_set(const struct probes *probes, unsigned port, struct egress_set *set,
                     struct faults *faults)
{
    AUTOFREE char *place = text_format("Egress %s", set->egress);
    const struct others others = find_others(probes, set);
    const bool other = others.living;
    char text[IP_STRLEN];
    vec_each(struct egress_gateway, gateway, &set->gateways) {
        enum probe_verdict verdict = probes_verdict(probes, &gateway->address);
        mark_gateway(gateway, verdict, &others);
        if (verdict == PROBE_STALE && gateway->state != EGRESS_AWAY)
            tell_stale(gateway, place, others.whole, faults);
        if (!is_silent(verdict) || gateway->state == EGRESS_AWAY)
            continue;
        ip_str(&gateway->address, text);
        if (other)
            fault_raise(faults, place, egress_gateway_silent, .gateway = text, .port = port);
        else
            fault_raise(faults, place, egress_gateways_silent, .gateway = text, .port = port);
    }
}

int egress_prober_mark(struct egress_prober *prober, const struct egress_datapath *datapath,
                       const struct egress_plan *plan, struct faults *faults)
{
    int r = take_over(prober, datapath, plan);
    if (r < 0)
        return r;
    sorted_each(struct egress_set *const, set, &plan->sets)
        mark_set(&prober->probes, prober->config->egress.port, *set, faults);
    prober->moved = false;
    return 0;
}

int64_t egress_prober_known_ms(const struct egress_prober *prober)
{
    return probes_known_ms(&prober->probes);
}
