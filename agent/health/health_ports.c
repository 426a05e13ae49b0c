// SPDX-License-Identifier: Apache-2.0
/*
 * Health check node ports: a listening socket for each Service and address, one HTTP server for
 * all.
 *
 * agentd sets the wanted ports from the rows, and reports when a pass is over; the loop calls for
 * requests and retries. The struct owns the sockets, the server, and a copy of the wanted ports, by
 * Service. The kernel decides which Service gets a port: if two Services want one, the first to
 * bind has it, as with kube-proxy. All closing happens before any opening, so that Services can
 * swap ports.
 *
 * The port and address of a connection are read from its socket, for each request again. A request
 * on a connection whose port is closed gets no reply, and the connection is closed. Addresses are
 * bound before they exist (IP_FREEBIND): an external address of the node may never be configured.
 *
 * Each socket needs a descriptor, and the rest of the agent needs some: ports are refused before
 * the last descriptors are used.
 */
#include "health/health_ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/macro.h"
#include "base/sorted.h"
#include "base/text.h"
#include "faults/health.h"
#include "faults/raise.h"
#include "loop/backoff.h"
#include "loop/http.h"
#include "loop/tcp.h"
#include "loop/timer.h"

enum { RESERVED_DESCRIPTORS = 512 };

/* The headers of a request fit into the memory; a health check that takes long is cut off. */
static const struct http_limits limits = { .connections = 256, .silence_s = 10, .memory = 8192 };

struct served {
    struct nat_health_port wanted; /* with names of its own */
    uint16_t open;                 /* the port that is served; 0: none */
    bool current;                  /* for health_ports_want_all() */
    int error;                     /* of the last attempt; 0: none */
    struct ip refused;             /* the address that failed */
    VEC(int) sockets;              /* one an address */
};

struct health_ports {
    struct health_ports_options options;
    struct http_server *server;
    struct timer *timer;
    struct backoff backoff;
    VEC(struct ip) addresses;
    struct sorted services; /* struct served *, by namespace and name */
    struct sorted open;     /* those that are, by port */
    bool due;               /* something is to be opened or closed */
    bool moved;             /* the addresses differ from those of the sockets */
    bool freed;             /* something was closed since the last sync */
};

static int served_cmp(const void *a, const void *b)
{
    const struct served *const *left = a, *const *right = b;
    return nat_health_cmp(&(*left)->wanted, &(*right)->wanted);
}

static int port_cmp(const void *a, const void *b)
{
    const struct served *const *left = a, *const *right = b;
    return CMP((*left)->open, (*right)->open);
}

static void close_sockets(struct served *served)
{
    vec_each(const int, socket, &served->sockets)
        (void)close(*socket);
    vec_clear(&served->sockets);
}

static void served_free(struct served *served)
{
    close_sockets(served);
    vec_done(&served->sockets);
    free((char *)served->wanted.namespace);
    free((char *)served->wanted.name);
    free(served);
}

DEFINE_CLEANUP(struct served *, served_free);

static int served_new(const struct nat_health_port *wanted, struct served **ret_served)
{
    CLEANUP(served_freep) struct served *served = calloc(1, sizeof(*served));
    if (!served)
        return -ENOMEM;
    served->wanted = *wanted;
    served->wanted.namespace = strdup(wanted->namespace);
    served->wanted.name = strdup(wanted->name);
    if (!served->wanted.namespace || !served->wanted.name)
        return -ENOMEM;
    *ret_served = TAKE_PTR(served);
    return 0;
}

static bool is_listened_on(const struct health_ports *ports, const struct ip *ip)
{
    vec_each(const struct ip, address, &ports->addresses) {
        const struct ip any = { .family = address->family };
        if (ip_equal(address, ip) || address->family == IP_NONE ||
            (address->family == ip->family && ip_equal(address, &any)))
            return true;
    }
    return false;
}

static const struct served *served_at(const struct health_ports *ports,
                                      const struct http_request *request)
{
    const struct served key = { .open = request->local_port }, *wanted = &key;
    if (!is_listened_on(ports, &request->local))
        return NULL;
    struct served *const *found = sorted_find(&ports->open, &wanted);
    return found ? *found : NULL;
}

static void on_request(const struct http_request *request, struct http_reply *reply, void *context)
{
    const struct health_ports *ports = context;
    const struct served *served = served_at(ports, request);
    if (!served)
        return;
    bool healthy = ports->options.healthy(ports->options.context);
    uint32_t count = nat_health_count(&served->wanted, request->local.family);
    reply->body = text_format("{\n\t\"service\": {\n\t\t\"namespace\": \"%s\",\n\t\t\"name\": "
                              "\"%s\"\n\t},\n\t\"localEndpoints\": %u,\n"
                              "\t\"serviceProxyHealthy\": %s\n}",
                              served->wanted.namespace, served->wanted.name, count,
                              healthy ? "true" : "false");
    if (!reply->body)
        return;
    reply->size = strlen(reply->body);
    reply->status = count > 0 && healthy ? 200 : 503;
    reply->headers[0] = (struct http_header){ "X-Content-Type-Options", "nosniff" };
    reply->headers[1].name = "X-Load-Balancing-Endpoint-Weight";
    (void)snprintf(reply->headers[1].value, sizeof(reply->headers[1].value), "%u", count);
}

/* Returns -EMFILE where only the descriptors reserved for the rest of the agent are left. */
static int listen_within_limits(const struct ip *ip, uint16_t port, int *ret_fd)
{
    AUTOCLOSE int fd = -1;
    struct rlimit limit;
    int r = tcp_listen(ip, port, TCP_ADDRESS_ANY, &fd);
    if (r < 0)
        return r;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (rlim_t)fd + RESERVED_DESCRIPTORS >= limit.rlim_cur)
        return -EMFILE;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

static int open_socket(struct health_ports *ports, struct served *served, const struct ip *ip)
{
    AUTOCLOSE int fd = -1;
    int r = listen_within_limits(ip, served->wanted.port, &fd);
    if (r < 0)
        return r;
    r = vec_reserve(&served->sockets, 1);
    if (r < 0)
        return r;
    r = http_server_add(ports->server, fd);
    if (r < 0)
        return r;
    return vec_push(&served->sockets, TAKE_FD(fd));
}

static void close_port(struct health_ports *ports, struct served *served)
{
    if (served->open == 0)
        return;
    sorted_remove(&ports->open, &served);
    close_sockets(served);
    served->open = 0;
    ports->freed = true;
}

/* Binds all addresses or none, as kube-proxy does. */
static void open_port(struct health_ports *ports, struct served *served)
{
    served->error = 0;
    for (size_t i = 0; i < ports->addresses.count && served->error == 0; i++) {
        served->refused = ports->addresses.items[i];
        served->error = open_socket(ports, served, &served->refused);
    }
    if (served->error == 0 && served->sockets.count > 0) {
        served->open = served->wanted.port;
        served->error = sorted_put(&ports->open, &served);
    }
    if (served->error < 0) {
        close_sockets(served);
        served->open = 0;
    }
}

static bool is_open(const struct served *served)
{
    return served->open == served->wanted.port;
}

/* Ports that failed are retried when a retry is due, or when a port was released. */
static void sync_ports(struct health_ports *ports, bool retry)
{
    bool failed = false;
    sorted_each(struct served *, served, &ports->services) {
        if (ports->moved || !is_open(*served))
            close_port(ports, *served);
    }
    bool again = retry || ports->moved || ports->freed;
    sorted_each(struct served *, served, &ports->services) {
        if (!is_open(*served) && ((*served)->error == 0 || again))
            open_port(ports, *served);
        failed |= (*served)->error < 0;
    }
    ports->due = ports->moved = ports->freed = false;
    if (failed && (retry || ports->backoff.delay_ms == 0))
        timer_arm(ports->timer, backoff_next(&ports->backoff));
    if (failed)
        return;
    timer_disarm(ports->timer);
    backoff_reset(&ports->backoff);
}

static void on_retry(void *context)
{
    struct health_ports *ports = context;
    sync_ports(ports, true);
    ports->options.tried(ports->options.context);
}

static struct served *find(const struct health_ports *ports, const char *namespace,
                           const char *name)
{
    const struct served key = { .wanted = { .namespace = namespace, .name = name } },
                        *wanted = &key;
    struct served **found = sorted_find(&ports->services, &wanted);
    return found ? *found : NULL;
}

static void drop(struct health_ports *ports, struct served *served)
{
    close_port(ports, served);
    sorted_remove(&ports->services, &served);
    ports->due = true;
    served_free(served);
}

static int add(struct health_ports *ports, const struct nat_health_port *wanted)
{
    CLEANUP(served_freep) struct served *served = NULL;
    int r = served_new(wanted, &served);
    if (r < 0)
        return r;
    r = sorted_put(&ports->services, &served);
    if (r < 0)
        return r;
    served->current = ports->due = true;
    (void)TAKE_PTR(served);
    return 0;
}

static const char *where(const struct ip *ip, char buffer[static IP_STRLEN])
{
    return ip->family == IP_NONE ? "all addresses" : ip_str(ip, buffer);
}

/* The other Service that has the port; NULL: no Service of ours. */
static char *owner(const struct health_ports *ports, const struct served *served)
{
    const struct served key = { .open = served->wanted.port }, *wanted = &key;
    struct served *const *found = sorted_find(&ports->open, &wanted);
    return served->error == -EADDRINUSE && found
               ? text_format("it is that of Service %s/%s", (*found)->wanted.namespace,
                             (*found)->wanted.name)
               : NULL;
}

static void add_fault(const struct health_ports *ports, const struct served *served,
                      const char *node, struct faults *faults)
{
    const struct nat_health_port *wanted = &served->wanted;
    AUTOFREE char *place = text_format("Service %s/%s", wanted->namespace, wanted->name);
    AUTOFREE char *other = owner(ports, served);
    const char *remedy = served->error == -EADDRINUSE
                             ? "free the port, or give the Service another healthCheckNodePort"
                         : served->error == -EMFILE ? "raise LimitNOFILE= of agentd.service"
                                                    : NULL;
    char buffer[IP_STRLEN];
    char port[8];
    (void)snprintf(port, sizeof(port), "%u", wanted->port);
    fault_raise(faults, place, health_port_unserved, .node = node, .port = port,
                .address = where(&served->refused, buffer),
                .reason = other ? other : strerror(-served->error), .remedy = remedy);
}

int health_ports_new(const struct health_ports_options *options, struct health_ports **ret_ports)
{
    CLEANUP(health_ports_freep) struct health_ports *ports = calloc(1, sizeof(*ports));
    if (!ports)
        return -ENOMEM;
    ports->options = *options;
    ports->services = (struct sorted)SORTED(struct served *, served_cmp);
    ports->open = (struct sorted)SORTED(struct served *, port_cmp);
    ports->backoff = (struct backoff){ .initial_ms = options->retry_initial_ms,
                                       .max_ms = options->retry_max_ms };
    const struct http_service service = { .handle = on_request,
                                          .context = ports,
                                          .limits = &limits };
    int r = http_server_new(options->event, &service, &ports->server);
    if (r < 0)
        return r;
    r = timer_new(options->event, 0, on_retry, ports, &ports->timer);
    if (r < 0)
        return r;
    *ret_ports = TAKE_PTR(ports);
    return 0;
}

void health_ports_free(struct health_ports *ports)
{
    if (!ports)
        return;
    sorted_each(struct served *, served, &ports->services) {
        served_free(*served);
    }
    sorted_done(&ports->services);
    sorted_done(&ports->open);
    http_server_free(ports->server);
    timer_free(ports->timer);
    vec_done(&ports->addresses);
    free(ports);
}

int health_ports_listen_on(struct health_ports *ports, const struct ip *addresses, size_t count)
{
    bool same = count == ports->addresses.count;
    for (size_t i = 0; same && i < count; i++)
        same = ip_equal(&addresses[i], &ports->addresses.items[i]);
    if (same)
        return 0;
    if (vec_reserve(&ports->addresses, count) < 0)
        return -ENOMEM;
    vec_clear(&ports->addresses);
    for (size_t i = 0; i < count; i++)
        ports->addresses.items[ports->addresses.count++] = addresses[i];
    ports->due = ports->moved = true;
    return 0;
}

int health_ports_want(struct health_ports *ports, const struct nat_health_port *wanted)
{
    struct served *served = find(ports, wanted->namespace, wanted->name);
    if (!served)
        return add(ports, wanted);
    served->current = true;
    served->wanted.ready_v4 = wanted->ready_v4;
    served->wanted.ready_v6 = wanted->ready_v6;
    if (served->wanted.port != wanted->port) {
        served->wanted.port = wanted->port;
        served->error = 0;
        ports->due = true;
    }
    return 0;
}

void health_ports_drop(struct health_ports *ports, const char *namespace, const char *name)
{
    struct served *served = find(ports, namespace, name);
    if (served)
        drop(ports, served);
}

int health_ports_want_all(struct health_ports *ports, const nat_health_list *wanted)
{
    sorted_each(struct served *, served, &ports->services) {
        (*served)->current = false;
    }
    vec_each(const struct nat_health_port, port, wanted) {
        int r = health_ports_want(ports, port);
        if (r < 0)
            return r;
    }
    for (size_t i = ports->services.count; i-- > 0;) {
        struct served *served = *(struct served **)sorted_at(&ports->services, i);
        if (!served->current)
            drop(ports, served);
    }
    return 0;
}

void health_ports_sync(struct health_ports *ports)
{
    if (ports->due)
        sync_ports(ports, false);
}

void health_ports_faults(const struct health_ports *ports, const char *node, struct faults *faults)
{
    sorted_each(struct served *, served, &ports->services) {
        if ((*served)->error < 0)
            add_fault(ports, *served, node, faults);
    }
}

void health_ports_each_taken(const struct health_ports *ports,
                             void (*each)(void *context, const struct nat_health_port *port),
                             void *context)
{
    sorted_each(struct served *, served, &ports->services) {
        if ((*served)->error == -EADDRINUSE)
            each(context, &(*served)->wanted);
    }
}

size_t health_ports_open(const struct health_ports *ports)
{
    return ports->open.count;
}
