// SPDX-License-Identifier: Apache-2.0
/* See wire.h. Owned by claims.c. */
#include "segment/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/macro.h"

struct wire {
    struct wires *wires;
    uint32_t ifindex;
    bool wanted;
    int error;
    struct segment_socket *socket; /* NULL: `error` has the reason */
    sd_event_source *source;
};

struct wires {
    sd_event *event;
    wires_heard heard;
    void *context;
    VEC(struct wire *) list; /* pointers: event sources refer to them */
};

static void wire_shut(struct wire *wire)
{
    sd_event_source_disable_unref(TAKE_PTR(wire->source));
    segment_socket_close(TAKE_PTR(wire->socket));
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *context)
{
    struct wire *wire = context;
    struct segment_claim claim;
    int r;
    (void)source, (void)fd, (void)events;
    while ((r = segment_socket_receive(wire->socket, &claim)) > 0)
        wire->wires->heard(wire->wires->context, wire->ifindex, &claim);
    if (r < 0) {
        wire->error = r;
        wire_shut(wire);
    }
    return 0;
}

static void wire_open(struct wire *wire)
{
    wire->error = segment_socket_open(wire->ifindex, &wire->socket);
    if (wire->error == 0)
        wire->error = sd_event_add_io(wire->wires->event, &wire->source,
                                      segment_socket_fd(wire->socket), EPOLLIN, on_input, wire);
    if (wire->error < 0)
        wire_shut(wire);
    else
        wire->error = 0;
}

static struct wire *find(const struct wires *wires, uint32_t ifindex)
{
    vec_each(struct wire *const, wire, &wires->list) {
        if ((*wire)->ifindex == ifindex)
            return *wire;
    }
    return NULL;
}

static void want(struct wires *wires, uint32_t ifindex)
{
    struct wire *wire = find(wires, ifindex);
    if (!wire) {
        wire = calloc(1, sizeof(*wire));
        if (!wire)
            return;
        *wire = (struct wire){ .wires = wires, .ifindex = ifindex };
        if (vec_push(&wires->list, wire) < 0) {
            free(wire);
            return;
        }
    }
    wire->wanted = true;
    if (!wire->socket)
        wire_open(wire);
}

static void wire_free(struct wire *wire)
{
    wire_shut(wire);
    free(wire);
}

void wires_set(struct wires *wires, const wire_list *ifindexes)
{
    size_t kept = 0;
    vec_each(struct wire *const, wire, &wires->list)
        (*wire)->wanted = false;
    vec_each(const uint32_t, ifindex, ifindexes)
        want(wires, *ifindex);
    for (size_t i = 0; i < wires->list.count; i++) {
        struct wire *wire = wires->list.items[i];
        if (wire->wanted)
            wires->list.items[kept++] = wire;
        else
            wire_free(wire);
    }
    wires->list.count = kept;
}

int wires_error(const struct wires *wires, uint32_t ifindex)
{
    const struct wire *wire = find(wires, ifindex);
    return wire ? wire->error : -ENODEV;
}

int wires_send(struct wires *wires, uint32_t ifindex, enum segment_word word, const struct ip *ip,
               const uint8_t mac[static 6])
{
    struct wire *wire = find(wires, ifindex);
    if (!wire || !wire->socket)
        return wire ? wire->error : -ENODEV;
    return segment_socket_send(wire->socket, word, ip, mac);
}

int wires_tell(struct wires *wires, const struct telling_word *word)
{
    struct wire *wire = find(wires, word->ifindex);
    if (!wire || !wire->socket)
        return wire ? wire->error : -ENODEV;
    return segment_socket_tell(wire->socket, &word->ip, word->mac, &word->host.ip, word->host.mac);
}

int wires_new(sd_event *event, wires_heard heard, void *context, struct wires **ret_wires)
{
    struct wires *wires = calloc(1, sizeof(*wires));
    if (!wires)
        return -ENOMEM;
    *wires = (struct wires){ .event = event, .heard = heard, .context = context };
    *ret_wires = wires;
    return 0;
}

void wires_free(struct wires *wires)
{
    if (!wires)
        return;
    vec_each(struct wire *const, wire, &wires->list)
        wire_free(*wire);
    vec_done(&wires->list);
    free(wires);
}
