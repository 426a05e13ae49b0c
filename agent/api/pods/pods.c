// SPDX-License-Identifier: Apache-2.0
/*
 * Requests of agent-cni; see pods.h. Called by the table of routes (api.c).
 *
 * Who waits has been refused once, and is asked about again whenever the agent is another. What is
 * asked for is done at once in any case: only the answer waits. A client that hangs up takes its
 * request with it, and nothing else: what it was given is freed by its DEL.
 */
#include "api/pods/pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/body.h"
#include "api/pods/pods_inside.h"
#include "api/pods/view_grant.h"
#include "api/reply.h"
#include "base/clock.h"
#include "base/macro.h"
#include "format/json.h"
#include "loop/timer.h"

enum {
    WANT_MS = 10 * 1000,  /* for addresses: the kubelet asks again by itself */
    WIRED_MS = 20 * 1000, /* for routes and programs */
};

/* Texts of a request, kept while it waits. */
struct request_texts {
    char *namespace, *name, *uid, *network;
};

struct waiter {
    TAILQ_ENTRY(waiter) link;
    struct pods_api *api;
    struct http_exchange *exchange;
    struct pod_interface pod_interface; /* container and interface */
    bool wants;                         /* addresses; else it was wired */
    struct request_texts texts;
    bool egress_only; /* with these addresses: */
    struct ip v4, v6;
    int64_t until_ms;
};

struct pods_api {
    struct pods_api_options options;
    struct histogram adds;
    struct timer *timer; /* the first of the waiters that has waited for too long */
    TAILQ_HEAD(, waiter) waiters;
};

/* ---- Words ---- */

struct words {
    unsigned status;
    const char *error, *remedy;
};

static const struct words refusals[] = {
    [POD_OFF] = { 403, "this agent gives no addresses to pods", "set pods.enabled: true" },
    [POD_EARLY] = { 503, "the agent has not yet read what the kernel and the source have",
                    "it is tried again; see agentctl status" },
    [POD_NAMESPACE] = { 503, "the source has not yet told of the pod's Namespace",
                        "it is tried again; see agentctl faults" },
    [POD_FULL] = { 503, "no address of the pod's pool is free on this node",
                   "let the controller give this node another block; see agentctl blocks" },
    [POD_RESTING] = { 503,
                      "the addresses of the pod's pool that are free on this node rest: the pods "
                      "that had them ended less than pods.leastRest ago",
                      "it is tried again; let the controller give this node another block, or "
                      "shorten pods.leastRest" },
    [POD_NO_POOL] = { 503, "there is no AddressPool of the name that the pod's Namespace says",
                      "make it, or correct the annotation coil.cybozu.com/pool" },
    [POD_EXHAUSTED] = { 503,
                        "no address of the pod's pool is free on this node, and the pool has no "
                        "block left",
                        "add a subnet to the AddressPool, or delete pods that have its addresses" },
    [POD_OTHER] = { 409, "the container's interface is another pod's", "delete that one first" },
    [POD_EGRESS_OFF] = { 403, "egress is off on this node", "set egress.enabled: true" },
    [POD_BAD_NAME] = { 400, "the names of container, interface and pool cannot be an alias",
                       "use shorter ones" },
    [POD_MEMORY] = { 503, "the agent has no memory left", "it is tried again" },
};

static const struct words lacks[] = {
    [POD_UNKNOWN] = { 404, "this container's interface has no addresses",
                      "add it again from the beginning" },
    [POD_NO_LINK] = { 504, "the host's end of the interface, by its alias, is not there",
                      "add it again from the beginning" },
    [POD_NO_ROUTE] = { 504, "the routes to the pod's addresses do not stand",
                       "see agentctl faults" },
    [POD_NO_NAT] = { 504, "service NAT's programs are not on the host's end",
                     "see agentctl faults, and services.podInterfaces" },
    [POD_NO_EGRESS] = { 504, "the programs of egress are not on the host's end",
                        "see agentctl faults, and services.podInterfaces" },
    [POD_UNREAD] = { 504,
                     "the source has not told of the Pod, whose annotations say by which Egress "
                     "it leaves the cluster",
                     "it is tried again; see agentctl faults" },
};

static void reply_words(struct http_reply *reply, const struct words *words)
{
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };
    json_begin_object(&json, NULL);
    json_string(&json, "error", words->error);
    json_string(&json, "remedy", words->remedy);
    json_end_object(&json);
    reply_document(reply, words->status, &out);
}

static void reply_grant(struct http_reply *reply, const struct pod_grant *grant)
{
    AUTOTEXT struct text out = { 0 };
    view_grant(grant, &out);
    reply_document(reply, 200, &out);
}

static void reply_done(struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };
    text_add(&out, "{}");
    reply_document(reply, 200, &out);
}

/* ---- Who waits ---- */

static bool may_wait(enum pod_refusal refusal)
{
    return refusal == POD_EARLY || refusal == POD_NAMESPACE || refusal == POD_FULL ||
           refusal == POD_RESTING;
}

static void forget(struct waiter *waiter)
{
    TAILQ_REMOVE(&waiter->api->waiters, waiter, link);
    free(waiter->texts.namespace);
    free(waiter->texts.network);
    free(waiter->texts.name);
    free(waiter->texts.uid);
    free(waiter);
}

static void on_ended(enum http_end end, void *context)
{
    (void)end;
    forget(context);
}

static void arm(struct pods_api *api)
{
    int64_t first_ms = INT64_MAX;
    struct waiter *waiter;
    TAILQ_FOREACH(waiter, &api->waiters, link)
    first_ms = MIN(first_ms, waiter->until_ms);
    if (first_ms == INT64_MAX)
        timer_disarm(api->timer);
    else
        timer_arm(api->timer, MAX(first_ms - clock_mono_ms(), 0));
}

/* Fills in the answer for an attempt. False: it may still come right. */
static bool try_want(struct pods_api *api, const struct pod_request *wanted, bool last,
                     struct http_reply *reply)
{
    struct pod_grant grant;
    enum pod_refusal refusal = api->options.calls.want(api->options.context, wanted, &grant);
    if (refusal == POD_GRANTED && wanted->egress_only)
        reply_done(reply);
    else if (refusal == POD_GRANTED)
        reply_grant(reply, &grant);
    else if (!last && may_wait(refusal))
        return false;
    else
        reply_words(reply, &refusals[refusal]);
    return true;
}

static void reply_served(struct pods_api *api, const struct pod_interface *pod_interface,
                         struct http_reply *reply)
{
    struct pod_grant grant;
    if (api->options.calls.grant(api->options.context, pod_interface, &grant))
        histogram_add(&api->adds, &histogram_sync,
                      (clock_mono_ms() - grant.attachment.promised_ms) * 1000);
    reply_done(reply);
}

static bool try_wired(struct pods_api *api, const struct pod_interface *pod_interface, bool last,
                      struct http_reply *reply)
{
    enum pod_lack lack = api->options.calls.lack(api->options.context, pod_interface);
    if (lack == POD_SERVED)
        reply_served(api, pod_interface, reply);
    else if (!last && lack != POD_UNKNOWN)
        return false;
    else
        reply_words(reply, &lacks[lack]);
    return true;
}

static bool try_waiter(struct waiter *waiter, int64_t now_ms, struct http_reply *reply)
{
    bool last = now_ms >= waiter->until_ms;
    const struct pod_request wanted = {
        .container = waiter->pod_interface.container,
        .interface = waiter->pod_interface.interface,
        .namespace = waiter->texts.namespace,
        .name = waiter->texts.name,
        .uid = waiter->texts.uid,
        .network = waiter->texts.network,
        .egress_only = waiter->egress_only,
        .v4 = waiter->v4,
        .v6 = waiter->v6,
    };
    return waiter->wants ? try_want(waiter->api, &wanted, last, reply)
                         : try_wired(waiter->api, &waiter->pod_interface, last, reply);
}

void pods_api_look(struct pods_api *api)
{
    struct waiter *waiter, *next;
    int64_t now_ms = clock_mono_ms();
    for (waiter = TAILQ_FIRST(&api->waiters); waiter; waiter = next) {
        struct http_reply reply = { 0 };
        next = TAILQ_NEXT(waiter, link);
        if (!try_waiter(waiter, now_ms, &reply))
            continue;
        http_later_answer(waiter->exchange, &reply);
        forget(waiter);
    }
    arm(api);
}

static void on_time(void *context)
{
    pods_api_look(context);
}

static bool keep_texts(struct waiter *waiter, const struct pod_request *wanted)
{
    if (!wanted)
        return true;
    waiter->wants = true;
    waiter->egress_only = wanted->egress_only;
    waiter->v4 = wanted->v4;
    waiter->v6 = wanted->v6;
    waiter->texts = (struct request_texts){ strdup(wanted->namespace), strdup(wanted->name),
                                            strdup(wanted->uid), strdup(wanted->network) };
    return waiter->texts.namespace && waiter->texts.name && waiter->texts.uid &&
           waiter->texts.network;
}

/* `request` NULL: it was wired. */
static void wait_for(struct pods_api *api, const struct http_request *request,
                     const struct pod_interface *pod_interface, const struct pod_request *wanted,
                     struct http_reply *reply)
{
    struct waiter *waiter = calloc(1, sizeof(*waiter));
    if (!waiter) {
        reply_words(reply, &refusals[POD_MEMORY]);
        return;
    }
    waiter->api = api;
    waiter->pod_interface = *pod_interface;
    waiter->until_ms = clock_mono_ms() + (wanted ? WANT_MS : WIRED_MS);
    TAILQ_INSERT_TAIL(&api->waiters, waiter, link);
    int r = keep_texts(waiter, wanted) ? 0 : -ENOMEM;
    if (r == 0)
        r = http_later(request, on_ended, waiter, &waiter->exchange);
    if (r < 0) {
        forget(waiter);
        reply_error(reply, 503, r == -EBUSY ? "too many wait already" : strerror(-r));
        return;
    }
    arm(api);
}

/* ---- Requests ---- */

static void reply_bad(struct http_reply *reply, int error, const struct faults *faults)
{
    if (error == -EBADMSG)
        reply_faults(reply, 400, faults);
    else
        reply_error(reply, 500, strerror(-error));
}

static void on_want(struct pods_api *api, const struct http_request *request,
                    const struct pod_interface *pod_interface, struct http_reply *reply)
{
    CLEANUP(document_freep) struct document *body = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    struct pod_request wanted = { .container = pod_interface->container,
                                  .interface = pod_interface->interface };
    int r = body_parse(request, &body, &faults);
    if (r == 0 && !body) {
        reply_error(reply, 400, "a body is needed: namespace and name of the pod");
        return;
    }
    if (r == 0)
        r = pods_read_request(body, &wanted, &faults);
    if (r < 0)
        reply_bad(reply, r, &faults);
    else if (!try_want(api, &wanted, false, reply))
        wait_for(api, request, pod_interface, &wanted, reply);
}

/* Before the first pass every pod interface is unknown: none may be denied, nor said to be gone. */
static bool is_early(const struct pods_api *api)
{
    return api->options.calls.ready(api->options.context, false) == POD_EARLY;
}

static void on_wired(struct pods_api *api, const struct http_request *request,
                     const struct pod_interface *pod_interface, struct http_reply *reply)
{
    AUTOFAULTS struct faults faults = { 0 };
    uint32_t ifindex = 0;
    int r = pods_read_index(request, &ifindex, &faults);
    if (r < 0)
        reply_bad(reply, r, &faults);
    else if (api->options.calls.wired(api->options.context, pod_interface, ifindex) < 0)
        reply_words(reply, is_early(api) ? &refusals[POD_EARLY] : &lacks[POD_UNKNOWN]);
    else
        wait_for(api, request, pod_interface, NULL, reply);
}

static void on_get(struct pods_api *api, const struct pod_interface *pod_interface,
                   struct http_reply *reply)
{
    struct pod_grant grant;
    if (api->options.calls.grant(api->options.context, pod_interface, &grant))
        reply_grant(reply, &grant);
    else if (api->options.calls.chained(api->options.context, pod_interface))
        reply_done(reply);
    else
        reply_words(reply, &lacks[POD_UNKNOWN]);
}

static void on_delete(struct pods_api *api, const struct pod_interface *pod_interface,
                      struct http_reply *reply)
{
    int r = api->options.calls.free(api->options.context, pod_interface);
    if (r < 0)
        reply_error(reply, 503, strerror(-r));
    else
        reply_done(reply);
}

static void on_ready(struct pods_api *api, bool egress_only, struct http_reply *reply)
{
    enum pod_refusal refusal = api->options.calls.ready(api->options.context, egress_only);
    if (refusal == POD_GRANTED)
        reply_done(reply);
    else
        reply_words(
            reply, &(const struct words){ 503, refusals[refusal].error, refusals[refusal].remedy });
}

void pods_api_handle(struct pods_api *api, const struct http_request *request,
                     struct http_reply *reply)
{
    struct pod_interface pod_interface;
    bool wired = false;
    bool collects = strcmp(request->path, "/v1/pods/gc") == 0;
    bool wants = !collects && strcmp(request->method, "POST") == 0;
    if (strcmp(request->path, "/v1/pods/ready") == 0)
        on_ready(api, false, reply);
    else if (strcmp(request->path, "/v1/pods/ready/egress") == 0)
        on_ready(api, true, reply);
    else if (!wants && is_early(api))
        reply_words(reply, &refusals[POD_EARLY]);
    else if (collects)
        pods_api_gc(&api->options, request, reply);
    else if (!pods_read_path(request->path, &pod_interface, &wired))
        reply_error(reply, 400,
                    "expected /v1/pods/CONTAINER/INTERFACE, by names that a CNI runtime gives");
    else if (wants && wired)
        on_wired(api, request, &pod_interface, reply);
    else if (wants)
        on_want(api, request, &pod_interface, reply);
    else if (strcmp(request->method, "DELETE") == 0)
        on_delete(api, &pod_interface, reply);
    else
        on_get(api, &pod_interface, reply);
}

const struct histogram *pods_api_adds(const struct pods_api *api)
{
    return &api->adds;
}

int pods_api_new(const struct pods_api_options *options, struct pods_api **ret_api)
{
    CLEANUP(pods_api_freep) struct pods_api *api = calloc(1, sizeof(*api));
    if (!api)
        return -ENOMEM;
    api->options = *options;
    TAILQ_INIT(&api->waiters);
    int r = timer_new(options->event, SD_EVENT_PRIORITY_NORMAL, on_time, api, &api->timer);
    if (r < 0)
        return r;
    *ret_api = TAKE_PTR(api);
    return 0;
}

void pods_api_free(struct pods_api *api)
{
    if (!api)
        return;
    timer_free(api->timer);
    free(api);
}
