// SPDX-License-Identifier: Apache-2.0
/*
 * The Kubernetes API: whether it answers, by an address that is there before the agent is, whether
 * it lets us do what the agent does, and whether it has a Node by our name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-event.h>

#include "base/text.h"
#include "client/kube/kube.h"
#include "doctor/visit.h"

enum { BODY_LEN = 8192 };

/* One question at a time, on a loop of its own. */
struct asking {
    sd_event *event;
    struct kube_client *client;
    struct kube_request *request;
    int status;
    char *error, *remedy; /* NULL: there was an answer */
    char body[BODY_LEN];  /* a string */
    size_t length;
};

static void asking_done(struct asking *asking)
{
    kube_request_cancel(asking->request);
    kube_client_free(asking->client);
    sd_event_unref(asking->event);
    free(asking->error);
    free(asking->remedy);
}

static void on_started(void *context, int status, int64_t retry_after_ms)
{
    struct asking *asking = context;
    (void)retry_after_ms;
    asking->status = status;
}

/* Of an answer only the first kilobytes are of interest, if any. */
static int on_data(void *context, const char *bytes, size_t size)
{
    struct asking *asking = context;
    const size_t room = sizeof(asking->body) - 1 - asking->length;
    const size_t taken = size < room ? size : room;
    memcpy(asking->body + asking->length, bytes, taken);
    asking->length += taken;
    return 0;
}

static void on_ended(void *context, const char *error, const char *remedy)
{
    struct asking *asking = context;
    asking->request = NULL;
    asking->error = error ? strdup(error) : NULL;
    asking->remedy = remedy ? strdup(remedy) : NULL;
    (void)sd_event_exit(asking->event, 0);
}

static int on_limit(sd_event_source *source, uint64_t usec, void *context)
{
    struct asking *asking = context;
    (void)source;
    (void)usec;
    asking->error = strdup("no answer in time");
    return sd_event_exit(asking->event, 0);
}

static int load(const struct visit *visit, struct kube_config **ret_config)
{
    AUTOFAULTS struct faults faults = { 0 };
    const char *file = visit->config->source.kubeconfig;
    return file ? kube_config_load(file, ret_config, &faults)
                : kube_config_in_cluster(KUBE_SERVICE_ACCOUNT, ret_config, &faults);
}

/* Calls. Returns the HTTP status, 0 with the error in `asking`, or -errno. */
static int call(struct asking *asking, const struct visit *visit, const struct kube_call *what)
{
    static const struct kube_handler handler = { on_started, on_data, on_ended };
    CLEANUP(kube_config_freep) struct kube_config *config = NULL;
    char error[KUBE_ERROR_LEN] = "";

    int r = load(visit, &config);
    if (r < 0)
        return r;
    r = sd_event_new(&asking->event);
    if (r < 0)
        return r;
    r = kube_client_new(asking->event, TAKE_PTR(config), &asking->client);
    if (r >= 0)
        r = kube_client_send(asking->client, what, &handler, asking, &asking->request, error);
    if (r < 0) {
        asking->error = strdup(*error ? error : strerror(-r));
        return 0;
    }
    r = sd_event_add_time_relative(asking->event, NULL, CLOCK_MONOTONIC,
                                   (uint64_t)visit->timeout_ms * 1000, 0, on_limit, asking);
    if (r >= 0)
        r = sd_event_loop(asking->event);
    return r < 0 ? r : asking->status;
}

/* Asks for a path. */
static int ask(struct asking *asking, const struct visit *visit, const char *path)
{
    return call(asking, visit, &(struct kube_call){ .path = path });
}

static bool wants_kube(struct visit *visit)
{
    if (visit->config && visit->config->source.kubernetes)
        return true;
    visit_skip(visit, "Kubernetes is not the source");
    return false;
}

static void check_api(struct visit *visit)
{
    CLEANUP(asking_done) struct asking asking = { 0 };

    if (!wants_kube(visit))
        return;
    int status = ask(&asking, visit, "/version");
    if (status < 0)
        visit_fail(visit, "see config.kubeconfig above", "can't ask: %s", strerror(-status));
    else if (asking.error)
        visit_fail(visit,
                   asking.remedy ? asking.remedy
                                 : "see that server: of the kubeconfig is reached from here",
                   "%s", asking.error);
    else if (status == 401)
        visit_fail(visit, "renew the token or certificate of the kubeconfig", "401: Unauthorized");
}

/* What the agent does with each kind that it reads, and with what it writes. */
static const struct right {
    const char *group, *resource, *verb;
    enum { FOR_ALL, FOR_EVENTS, FOR_PODS } what;
} rights[] = {
    { "", "services", "list" },
    { "", "services", "watch" },
    { "discovery.k8s.io", "endpointslices", "list" },
    { "discovery.k8s.io", "endpointslices", "watch" },
    { "", "nodes", "list" },
    { "", "nodes", "watch" },
    { "", "pods", "list" },
    { "", "pods", "watch" },
    { "coil.cybozu.com", "addressblocks", "list" },
    { "coil.cybozu.com", "addressblocks", "watch" },
    { "coil.cybozu.com", "addresspools", "list" },
    { "coil.cybozu.com", "addresspools", "watch" },
    { "coil.cybozu.com", "egresses", "list" },
    { "coil.cybozu.com", "egresses", "watch" },
    { "metallb.io", "ipaddresspools", "list" },
    { "metallb.io", "ipaddresspools", "watch" },
    { "metallb.io", "bgpadvertisements", "list" },
    { "metallb.io", "bgpadvertisements", "watch" },
    { "metallb.io", "l2advertisements", "list" },
    { "metallb.io", "l2advertisements", "watch" },
    { "events.k8s.io", "events", "create", FOR_EVENTS },
    { "", "namespaces", "list", FOR_PODS },
    { "", "namespaces", "watch", FOR_PODS },
    { "coil.cybozu.com", "blockrequests", "create", FOR_PODS },
    { "coil.cybozu.com", "blockrequests", "get", FOR_PODS },
    { "coil.cybozu.com", "blockrequests", "delete", FOR_PODS },
    { "coil.cybozu.com", "addressblocks", "get", FOR_PODS },
    { "coil.cybozu.com", "addressblocks", "patch", FOR_PODS },
    { "coil.cybozu.com", "addressblocks", "delete", FOR_PODS },
};

/* 1: we may; 0: we may not; -1: the API does not say. */
static int may(struct asking *asking, const struct visit *visit, const struct right *right)
{
    static const char key[] = "\"allowed\"";
    AUTOFREE char *body = text_format(
        "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
        "\"spec\":{\"resourceAttributes\":{\"group\":\"%s\",\"resource\":\"%s\",\"verb\":\"%s\"}}}",
        right->group, right->resource, right->verb);
    const struct kube_call review = {
        .method = "POST",
        .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        .content_type = "application/json",
        .body = body,
    };
    if (!body || call(asking, visit, &review) != 201 || asking->error)
        return -1;
    const char *allowed = strstr(asking->body, key);
    if (!allowed)
        return -1;
    allowed += sizeof(key) - 1;
    allowed += strspn(allowed, ": ");
    return strncmp(allowed, "true", 4) == 0;
}

static bool is_needed(const struct config *config, const struct right *right)
{
    return right->what == FOR_ALL || (right->what == FOR_EVENTS && config_has_events(config)) ||
           (right->what == FOR_PODS && config->pods.enabled);
}

/* By SelfSubjectAccessReview, which everybody may ask for who is known: nothing is read for it. */
static void check_rights(struct visit *visit)
{
    if (!wants_kube(visit))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
        CLEANUP(asking_done) struct asking asking = { 0 };
        const struct right *right = &rights[i];
        if (!is_needed(visit->config, right))
            continue;
        const int allowed = may(&asking, visit, right);
        if (allowed < 0) {
            visit_skip(visit, "the API does not say what we may");
            return;
        }
        if (allowed == 0)
            visit_fail(visit, "kubectl apply -f deploy/kubernetes/rbac.yaml, and use its account",
                       "may not %s %s%s%s", right->verb, right->resource, *right->group ? "." : "",
                       right->group);
    }
}

/* Nobody serves a ClusterIP before the agent that would has heard of it. */
static void check_circle(struct visit *visit)
{
    CLEANUP(kube_config_freep) struct kube_config *config = NULL;
    struct ip ip;
    char text[IP_STRLEN];

    if (!wants_kube(visit))
        return;
    if (!visit->config->services.enabled) {
        visit_skip(visit, "services is not enabled: another proxy serves ClusterIPs");
        return;
    }
    if (load(visit, &config) == 0 && kube_config_address(config, &ip) &&
        config_is_service_address(visit->config, &ip))
        visit_fail(visit,
                   "name a kubeconfig with the API server's own address, as kube-proxy has it: "
                   "source.kubernetes.kubeconfig",
                   "%s is a ClusterIP, which the agent itself would have to serve first",
                   ip_str(&ip, text));
}

static void check_name(struct visit *visit)
{
    CLEANUP(asking_done) struct asking asking = { 0 };

    if (!wants_kube(visit))
        return;
    AUTOFREE char *path = text_format("/api/v1/nodes/%s", visit->config->node);
    int status = path ? ask(&asking, visit, path) : -ENOMEM;
    if (status == 404)
        visit_fail(visit, "set node: to a name that this prints: kubectl get nodes -o wide",
                   "the API has no Node \"%s\"", visit->config->node);
    else if (status == 200 && !asking.error)
        visit_good(visit, "Node \"%s\"", visit->config->node);
    else
        visit_skip(visit, "the API does not say");
}

const struct check kube_checks[] = {
    { "kube.api", "Kubernetes API", "it answers, and knows us", check_api },
    { "kube.circle", "API address", "none that only the agent would serve", check_circle },
    { "kube.rights", "rights", "to list and watch what is read, and to write what is written",
      check_rights },
    { "kube.node", "Node", "one by this machine's name", check_name },
    { NULL },
};
