// SPDX-License-Identifier: Apache-2.0
/*
 * The Kubernetes API: whether it answers, whether it lets us list each kind that is watched, and
 * whether it has a Node by our name. Each is asked as the agent asks, for one object at most; so a
 * right that is missing shows as the API's own refusal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-event.h>

#include "base/text.h"
#include "client/kube.h"
#include "doctor/visit.h"

/* One question at a time, on a loop of its own. */
struct asking {
    sd_event *event;
    struct kube_client *client;
    struct kube_request *request;
    int status;
    char *error, *remedy; /* NULL: there was an answer */
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

static int on_data(void *context, const char *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
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

/* Asks for a path. Returns the HTTP status, 0 with the error in `asking`, or -errno. */
static int ask(struct asking *asking, const struct visit *visit, const char *path)
{
    static const struct kube_handler handler = { on_started, on_data, on_ended };
    AUTOFAULTS struct faults faults = { 0 };
    struct kube_config *config = NULL;
    char error[KUBE_ERROR_LEN] = "";
    const char *file = visit->config->source.kubeconfig;

    int r = file ? kube_config_load(file, &config, &faults)
                 : kube_config_in_cluster(KUBE_SERVICE_ACCOUNT, &config, &faults);
    if (r == 0)
        r = sd_event_new(&asking->event);
    if (r < 0) {
        kube_config_free(config);
        return r;
    }
    r = kube_client_new(asking->event, config, &asking->client);
    if (r == 0)
        r = kube_client_get(asking->client, path, &handler, asking, &asking->request, error);
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

static void check_rights(struct visit *visit)
{
    static const struct {
        const char *path, *what;
        bool optional;
    } kinds[] = {
        { "/api/v1/services?limit=1", "services", false },
        { "/apis/discovery.k8s.io/v1/endpointslices?limit=1", "endpointslices", false },
        { "/api/v1/nodes?limit=1", "nodes", false },
        { "/api/v1/pods?limit=1", "pods", false },
        { "/apis/coil.cybozu.com/v2/addressblocks?limit=1", "addressblocks", true },
        { "/apis/coil.cybozu.com/v2/addresspools?limit=1", "addresspools", true },
        { "/apis/coil.cybozu.com/v2/egresses?limit=1", "egresses", true },
    };

    if (!wants_kube(visit))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        CLEANUP(asking_done) struct asking asking = { 0 };
        int status = ask(&asking, visit, kinds[i].path);
        if (status <= 0 || asking.error) {
            visit_skip(visit, "the API does not answer");
            return;
        }
        if (status == 403)
            visit_fail(visit, "kubectl apply -f deploy/kubernetes/rbac.yaml, and use its account",
                       "403: may not list %s", kinds[i].what);
        else if (status != 200 && !(status == 404 && kinds[i].optional))
            visit_fail(visit, "see: kubectl get --raw /readyz?verbose", "%s: HTTP status %d",
                       kinds[i].what, status);
    }
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
    { "kube.rights", "rights", "to list each kind that is watched", check_rights },
    { "kube.node", "Node", "one by this machine's name", check_name },
    { NULL },
};
