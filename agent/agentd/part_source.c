// SPDX-License-Identifier: Apache-2.0
/*
 * The agent's source of objects: a folder of manifests, or the Kubernetes API with the copy on disk
 * beside it.
 *
 * With Kubernetes, no pass runs before it is known what to work with: what a list has brought so
 * far is half of it, and the copy may be days old while the API is about to answer. When the source
 * has synced, or the wait for it is over, passes begin and the agent is ready.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/part.h"
#include "base/clock.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/remedy.h"
#include "base/text.h"
#include "client/kube/kubeconfig.h"
#include "faults/api.h"
#include "faults/kubeconfig.h"
#include "faults/raise.h"

enum { KUBECONFIG_MAX = 1 << 20 };

static void on_changed(void *context)
{
    struct agent *agent = context;
    services_queued(agent);
    if (agent->copy)
        copy_keeper_source_changed(agent->copy);
    schedule_pass(agent->schedule, false);
}

static void on_settled(void *context)
{
    struct agent *agent = context;
    agent->settled = true;
    schedule_resume(agent->schedule);
}

static int open_manifests(struct agent *agent)
{
    const struct manifest_options options = {
        .directory = agent->config->source.manifests,
        .max_file_bytes = agent->config->source.max_file_bytes,
        .store = agent->store,
        .status = &agent->status.source,
        .faults = agent->status.faults,
        .changed = on_changed,
        .context = agent,
    };
    int r = manifest_source_start(agent->event, &options, &agent->manifests);
    if (r < 0)
        log_error("cannot watch %s: %s", options.directory, strerror(-r));
    return r;
}

int source_load_kubeconfig(const struct agent *agent, struct kube_config **ret_kube,
                           struct faults *faults)
{
    const char *path = agent->config->source.kubeconfig;
    return path ? kube_config_load(path, ret_kube, faults)
                : kube_config_in_cluster(KUBE_SERVICE_ACCOUNT, ret_kube, faults);
}

static int open_copy(struct agent *agent, const char *server)
{
    struct copy_timing timing = copy_timing_default;
    timing.wait_ms = agent->config->source.start_wait_ms;
    const struct copy_keeper_options options = {
        .event = agent->event,
        .path = agent->copy_path,
        .owner = { .node = agent->config->node, .server = server },
        .origin = KUBE_ORIGIN,
        .timing = &timing,
        .store = agent->store,
        .status = &agent->status,
        .settled = on_settled,
        .context = agent,
    };
    return copy_keeper_new(&options, &agent->copy);
}

/*
 * An API whose address is a ClusterIP that this agent serves: after a reboot nobody serves it until
 * the agent has heard of it from there.
 */
static void tell_of_circle(const struct agent *agent, const struct kube_config *kube)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct config *config = agent->config;
    struct ip ip;
    char text[IP_STRLEN];
    if (config->services.enabled && kube_config_address(kube, &ip) &&
        config_is_service_address(config, &ip))
        fault_raise(&faults, kube->server, api_address_circular, .address = ip_str(&ip, text));
    (void)fault_book_replace(agent->status.faults, "kubernetes", "circle", &faults,
                             clock_wall_ms());
}

static int start_kube(struct agent *agent, struct kube_config *kube)
{
    const struct kube_source_options options = {
        .config = kube,
        .resources = agent->config->pods.enabled ? &kube_pods_resources : &kube_agent_resources,
        .node = agent->config->node,
        .proxy_name = agent->config->services.proxy_name,
        .all_pods = agent->config->egress.gateway.enabled,
        .needed = {
            [KIND_EGRESS] = agent->config->egress.enabled || agent->config->egress.gateway.enabled,
            [KIND_ADDRESS_BLOCK] = agent->config->pods.enabled,
            [KIND_ADDRESS_POOL] = agent->config->pods.enabled,
        },
        .store = agent->store,
        .status = &agent->status.source,
        .faults = agent->status.faults,
        .changed = on_changed,
        .context = agent,
    };
    struct kube_source *source = NULL;
    int r = kube_source_start(agent->event, &options, &source);
    if (r < 0)
        return r;
    agent->kube = source;
    tell_of_circle(agent, kube);
    return 0;
}

/* The text of the kubeconfig's file, to see that it changes; NULL in a pod. */
static char *kubeconfig_text(const struct agent *agent)
{
    char *text = NULL;
    size_t size;
    const char *path = agent->config->source.kubeconfig;
    if (!path || file_read(path, KUBECONFIG_MAX, &text, &size) < 0)
        return NULL;
    return text;
}

static int open_kubernetes(struct agent *agent)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(kube_config_freep) struct kube_config *kube = NULL;
    int r = source_load_kubeconfig(agent, &kube, &faults);
    vec_each(const struct fault, fault, &faults.list)
        log_error("%s: %s", fault->place, fault->message);
    if (r < 0)
        return r;
    agent->kubeconfig_text = kubeconfig_text(agent);
    agent->copy_path = text_format("%s/objects.json", agent->config->paths.state);
    if (!agent->copy_path)
        return -ENOMEM;
    r = open_copy(agent, kube->server);
    r = r < 0 ? r : start_kube(agent, TAKE_PTR(kube));
    if (r < 0)
        log_error("cannot ask the Kubernetes API: %s", strerror(-r));
    else
        schedule_pause(agent->schedule);
    return r;
}

static int open_source(struct agent *agent)
{
    return agent->config->source.manifests ? open_manifests(agent) : open_kubernetes(agent);
}

/* The copy first: it writes down what the source has said. */
static void close_source(struct agent *agent)
{
    copy_keeper_free(agent->copy);
    kube_source_free(agent->kube);
    manifest_source_free(agent->manifests);
    free(agent->copy_path);
    free(agent->kubeconfig_text);
}

uint64_t source_loaded_generation(void *context)
{
    const struct agent *agent = context;
    return agent->kube ? kube_source_loaded_generation(agent->kube)
                       : manifest_source_loaded_generation(agent->manifests);
}

/* What inotify cannot tell of: a change behind a link that leads out of the folder. */
void source_invalidate(void *context)
{
    struct agent *agent = context;
    if (agent->manifests)
        manifest_source_rescan(agent->manifests);
}

/*
 * Asks the API anew. What the store has is what the old one said, so that it counts as synced if
 * that had; the first list is compared with it.
 */
static int restart_kube(struct agent *agent, struct kube_config *kube)
{
    struct kube_source *old = agent->kube;
    const struct source_status before = agent->status.source;
    int r = copy_keeper_set_server(agent->copy, kube->server);
    if (r < 0) {
        kube_config_free(kube);
        return r;
    }
    r = start_kube(agent, kube);
    if (r < 0) {
        agent->status.source = before;
        (void)copy_keeper_set_server(agent->copy, before.path);
        return r;
    }
    agent->status.source.synced = before.synced;
    kube_source_free(old);
    return 0;
}

/* Reads the kubeconfig again; asks anew where it says something else. */
static int follow_kubeconfig(struct agent *agent, struct faults *faults)
{
    CLEANUP(kube_config_freep) struct kube_config *kube = NULL;
    AUTOFREE char *text = kubeconfig_text(agent);
    if (text && agent->kubeconfig_text && strcmp(text, agent->kubeconfig_text) == 0)
        return 0;
    int r = source_load_kubeconfig(agent, &kube, faults);
    if (r < 0)
        return r;
    r = restart_kube(agent, TAKE_PTR(kube));
    if (r < 0)
        return r;
    free(agent->kubeconfig_text);
    agent->kubeconfig_text = TAKE_PTR(text);
    return 0;
}

static void reload_kubeconfig(struct agent *agent)
{
    AUTOFAULTS struct faults faults = { 0 };
    int r = follow_kubeconfig(agent, &faults);
    if (r < 0 && faults_none(&faults))
        fault_raise(&faults, agent->config->source.kubeconfig, kubeconfig_unusable,
                    .reason = strerror(-r), .remedy = remedy_for_file(r));
    (void)fault_book_replace(agent->status.faults, "kubernetes", "kubeconfig", &faults,
                             clock_wall_ms());
}

static void reload_source(struct agent *agent)
{
    source_invalidate(agent);
    if (agent->kube && agent->config->source.kubeconfig)
        reload_kubeconfig(agent);
}

/* From whom it is known what is wanted. */
static void tell_source(const struct agent *agent, struct text *text)
{
    const struct status *status = &agent->status;
    if (status->source.synced)
        return;
    if (status->copy.in_force)
        text_add(text, "from the copy on disk");
    else
        text_add(text, status->copy.path ? "waiting for the Kubernetes API"
                                         : "waiting for the manifests");
}

/* What the sources need of the configuration cannot change while the agent runs (reload.c). */
const struct part part_source = {
    .name = "source",
    .open = open_source,
    .reload = reload_source,
    .health = tell_source,
    .close = close_source,
};
