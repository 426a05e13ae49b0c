// SPDX-License-Identifier: Apache-2.0
/*
 * The health of the service proxy; see health.h for the contract.
 *
 * agent.c creates it and passes it rows, node and passes; the loop calls it for requests. It owns
 * the servers of /healthz and /proxyMode (endpoint.c) and the health ports (health_ports.c).
 *
 * A family is late if a queued change is not applied in time; a family without queued changes is
 * never late. Times are taken from the monotonic clock; wall time is only shown. As with
 * kube-proxy, a reply of 200 has the current time as "lastUpdated", and "healthy" in the body of
 * /healthz ignores the node.
 *
 * A Node object that never existed does not make this node unhealthy. One that existed and was
 * deleted does: kube-proxy would have exited.
 */
#include "health/health.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "health/endpoint.h"
#include "health/health_ports.h"
#include "model/node.h"

enum { FAMILIES = 2, LATE_MS = 2 * 30 * 1000, TIME_STRLEN = CLOCK_STRLEN + 4 };

struct family_health {
    bool known;   /* something was applied */
    bool pending; /* something is queued, since: */
    int64_t queued_mono_ms;
    int64_t applied_wall_ms; /* 0: never */
    bool broken;
};

struct health {
    sd_event *event;
    struct status *status;
    struct family_health families[FAMILIES]; /* IPv4 first */
    bool node_seen, node_eligible;
    /* With NAT on; else NULL. */
    struct endpoint *healthz, *proxy_mode;
    struct health_ports *ports;
};

static struct family_health *family_of(struct health *health, uint8_t family)
{
    return &health->families[family == IP_V6];
}

static bool is_well(const struct family_health *family, int64_t now_mono_ms)
{
    bool late = family->known && family->pending && now_mono_ms - family->queued_mono_ms >= LATE_MS;
    return !late && !family->broken;
}

void health_each_taken_port(const struct health *health,
                            void (*each)(void *context, const struct nat_health_port *port),
                            void *context)
{
    if (health->ports)
        health_ports_each_taken(health->ports, each, context);
}

bool health_is_healthy(const struct health *health)
{
    int64_t now_mono_ms = clock_mono_ms();
    for (int i = 0; i < FAMILIES; i++) {
        if (!is_well(&health->families[i], now_mono_ms))
            return false;
    }
    return true;
}

/* A time as Go formats it: fractions without trailing zeros; 0 is Go's zero time. */
static const char *go_time(int64_t wall_ms, char buffer[static TIME_STRLEN])
{
    char whole[CLOCK_STRLEN];
    int fraction = (int)(wall_ms % 1000), digits = 3;
    if (wall_ms == 0)
        return strcpy(buffer, "0001-01-01T00:00:00Z");
    (void)clock_rfc3339(wall_ms, whole);
    if (fraction == 0)
        return strcpy(buffer, whole);
    for (; fraction % 10 == 0; digits--)
        fraction /= 10;
    whole[strlen(whole) - 1] = '\0'; /* the Z */
    (void)snprintf(buffer, TIME_STRLEN, "%s.%0*dZ", whole, digits, fraction);
    return buffer;
}

static const char *word(bool value)
{
    return value ? "true" : "false";
}

static void add_families(const struct health *health, struct text *out)
{
    static const char *const names[FAMILIES] = { "IPv4", "IPv6" };
    int64_t now_mono_ms = clock_mono_ms();
    char time[TIME_STRLEN];
    bool first = true;
    for (int i = 0; i < FAMILIES; i++) {
        const struct family_health *family = &health->families[i];
        if (!family->known && !family->broken)
            continue;
        text_addf(out, "%s\"%s\":{\"lastUpdated\":\"%s\",\"healthy\":%s}",
                  first ? ",\"status\":{" : ",", names[i], go_time(family->applied_wall_ms, time),
                  word(is_well(family, now_mono_ms)));
        first = false;
    }
    if (!first)
        text_add_char(out, '}');
}

/* `node` is NULL where the node does not matter. */
static char *health_body(const struct health *health, bool ok, const bool *node)
{
    AUTOTEXT struct text out = { 0 };
    char updated[TIME_STRLEN], current[TIME_STRLEN];
    int64_t now_wall_ms = clock_wall_ms();
    int64_t last_wall_ms =
        MAX(health->families[0].applied_wall_ms, health->families[1].applied_wall_ms);
    text_addf(&out, "{\"lastUpdated\":\"%s\",\"currentTime\":\"%s\"",
              go_time(ok ? now_wall_ms : last_wall_ms, updated), go_time(now_wall_ms, current));
    if (node)
        text_addf(&out, ",\"nodeEligible\":%s", word(*node));
    text_addf(&out, ",\"healthy\":%s", word(health_is_healthy(health)));
    add_families(health, &out);
    text_add_char(&out, '}');
    return text_take(&out);
}

static void say(struct http_reply *reply, unsigned status, const char *type, char *body)
{
    if (!body)
        return; /* no memory: hang up */
    reply->status = status;
    reply->content_type = type;
    reply->body = body;
    reply->size = strlen(body);
    reply->headers[0] = (struct http_header){ "X-Content-Type-Options", "nosniff" };
}

static void say_health(const struct health *health, const bool *node, struct health_answers *count,
                       struct http_reply *reply)
{
    bool ok = health_is_healthy(health) && (!node || *node);
    say(reply, ok ? 200 : 503, "application/json", health_body(health, ok, node));
    if (ok)
        count->ok++;
    else
        count->unavailable++;
}

static void on_request(const struct http_request *request, struct http_reply *reply, void *context)
{
    const struct health *health = context;
    struct health_status *status = &health->status->health;
    if (strcmp(request->path, "/healthz") == 0)
        say_health(health, &health->node_eligible, &status->healthz, reply);
    else if (strcmp(request->path, "/livez") == 0)
        say_health(health, NULL, &status->livez, reply);
    else
        say(reply, 404, "text/plain; charset=utf-8", strdup("404 page not found\n"));
}

/* The mode whose rules ours follow. Tools query it to know which rules to inspect. */
static void on_mode_request(const struct http_request *request, struct http_reply *reply,
                            void *context)
{
    (void)context;
    bool known = strcmp(request->path, "/proxyMode") == 0;
    say(reply, known ? 200 : 404, "text/plain; charset=utf-8",
        strdup(known ? "nftables" : "404 page not found\n"));
}

static void tell_ports(void *context)
{
    struct health *health = context;
    AUTOFAULTS struct faults faults = { 0 };
    if (health->ports)
        health_ports_faults(health->ports, health->status->node, &faults);
    (void)fault_book_replace(health->status->faults, "services", "health ports", &faults,
                             clock_wall_ms());
}

static bool ports_healthy(void *context)
{
    return health_is_healthy(context);
}

/* Every health port needs a descriptor. The usual soft limit of 1024 is for select(), which is
 * not used here. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* NULL: nowhere. */
static int serve(struct health *health, const char *healthz, const char *proxy_mode)
{
    struct endpoint_options options = {
        .event = health->event,
        .faults = health->status->faults,
        .subsystem = "services",
        .group = "healthz",
        .taken = "stop kube-proxy, or name another address",
        .setting = "services.healthz",
        .what = "/healthz and /livez",
        .handle = on_request,
        .context = health,
    };
    int r = endpoint_serve(&health->healthz, &options, healthz);
    options.group = "proxyMode";
    options.setting = "services.proxyModeListen";
    options.what = "/proxyMode";
    options.handle = on_mode_request;
    int second = endpoint_serve(&health->proxy_mode, &options, proxy_mode);
    return r < 0 ? r : second;
}

static void switch_off(struct health *health)
{
    (void)serve(health, NULL, NULL);
    memset(health->families, 0, sizeof(health->families));
    if (!health->ports)
        return;
    health_ports_free(TAKE_PTR(health->ports));
    tell_ports(health);
}

static int serve_ports(struct health *health)
{
    const struct health_ports_options options = {
        .event = health->event,
        .healthy = ports_healthy,
        .tried = tell_ports,
        .context = health,
        .retry_initial_ms = SECOND_MS,
        .retry_max_ms = MINUTE_MS,
    };
    if (health->ports)
        return 0;
    raise_descriptors();
    return health_ports_new(&options, &health->ports);
}

int health_new(const struct health_options *options, struct health **ret_health)
{
    CLEANUP(health_freep) struct health *health = calloc(1, sizeof(*health));
    if (!health)
        return -ENOMEM;
    health->event = options->event;
    health->status = options->status;
    health->node_eligible = true;
    int r = health_configure(health, options->config);
    if (r < 0)
        return r;
    *ret_health = TAKE_PTR(health);
    return 0;
}

void health_free(struct health *health)
{
    if (!health)
        return;
    endpoint_free(health->healthz);
    endpoint_free(health->proxy_mode);
    health_ports_free(health->ports);
    free(health);
}

int health_configure(struct health *health, const struct config *config)
{
    if (!config->services.enabled) {
        switch_off(health);
        return 0;
    }
    int r = serve_ports(health);
    if (r == 0)
        r = serve(health, config->services.healthz, config->services.proxy_mode);
    if (r < 0)
        switch_off(health);
    return r;
}

int health_set_node(struct health *health, const struct node_facts *facts)
{
    const struct object *object = store_get(facts->store, KIND_NODE, "", facts->config->node);
    health->node_seen |= object != NULL;
    health->node_eligible =
        object ? !object->deleting && !to_node(object)->to_be_deleted : !health->node_seen;
    if (!health->ports)
        return 0;
    AUTOVEC ip_list addresses = { 0 };
    int r = nat_health_addresses(facts, &addresses);
    if (r < 0)
        return r;
    return health_ports_listen_on(health->ports, addresses.items, addresses.count);
}

int health_set_rows(struct health *health, const struct sorted *rows)
{
    AUTOVEC nat_health_list list = { 0 };
    if (!health->ports)
        return 0;
    int r = nat_health_of_rows(rows, &list);
    return r < 0 ? r : health_ports_want_all(health->ports, &list);
}

int health_set_row(struct health *health, const struct nat_row *row)
{
    struct nat_health_port port;
    if (!health->ports)
        return 0;
    if (nat_health_of_row(row, &port))
        return health_ports_want(health->ports, &port);
    health_ports_drop(health->ports, row->namespace, row->name);
    return 0;
}

void health_drop_row(struct health *health, const char *namespace, const char *name)
{
    if (health->ports)
        health_ports_drop(health->ports, namespace, name);
}

void health_sync(struct health *health)
{
    if (!health->ports)
        return;
    health_ports_sync(health->ports);
    tell_ports(health);
}

void health_queued(struct health *health, uint8_t family)
{
    struct family_health *state = family_of(health, family);
    if (state->pending)
        return;
    state->pending = true;
    state->queued_mono_ms = clock_mono_ms();
}

void health_applied(struct health *health, uint8_t family)
{
    struct family_health *state = family_of(health, family);
    state->pending = false;
    state->known = true;
    state->applied_wall_ms = clock_wall_ms();
}

void health_set_works(struct health *health, uint8_t family, bool works)
{
    family_of(health, family)->broken = !works;
}
