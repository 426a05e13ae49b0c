// SPDX-License-Identifier: Apache-2.0
/*
 * The Kubernetes source: one reflector for each kind, one client for all of them, and what they
 * report together: generations, faults, and whether everything is in sync. Started by agentd.
 *
 * Reflectors only mark that something has changed; a deferred report updates status and faults and
 * notifies the daemon, once for all changes that arrived together.
 *
 * An unreachable API is one fault, not one of each kind.
 */
#include "source/kube.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "faults/api.h"
#include "faults/raise.h"
#include "loop/deferred.h"
#include "source/kube_pulse.h"
#include "source/reflector.h"

struct kube_source {
    struct kube_source_options options;
    struct kube_client *client;
    struct deferred *report;
    struct kube_pulse *pulse;
    struct reflector reflectors[KUBE_KINDS_MAX];
    size_t count;
    char *server;            /* for status */
    char *node, *proxy_name; /* `options` points to them: a reload frees the caller's */
};

static void tell(const struct kube_source *source, const char *group, const struct faults *faults)
{
    if (fault_book_replace(source->options.faults, "kubernetes", group, faults, clock_wall_ms()) <
        0)
        log_error("kubernetes: no memory to keep the faults of \"%s\"", group);
}

static void tell_of_kind(const struct kube_source *source, const struct reflector *reflector)
{
    AUTOFAULTS struct faults faults = { 0 };
    const char *name = reflector->status->kind;
    if (reflector_fails(reflector) && !reflector->unreachable)
        fault_raise(&faults, name, api_kind_out_of_sync, .error = reflector->status->error,
                    .remedy = reflector->remedy);
    if (reflector->needed && reflector->status->state == KUBE_ABSENT)
        fault_raise(&faults, name, api_kind_missing);
    kube_objects_faults(&reflector->objects, &faults);
    tell(source, name, &faults);
}

/* True if the host of a URL can only be this machine. */
static bool is_local(const char *url)
{
    static const char *const hosts[] = { "://127.", "://[::1]", "://localhost:", "://localhost/" };
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
        if (strstr(url, hosts[i]))
            return true;
    }
    return false;
}

/* The error of a failed request takes precedence over that of the pulse. */
static void tell_unreachable(const struct kube_source *source, struct faults *faults)
{
    for (size_t i = 0; i < source->count; i++) {
        const struct reflector *reflector = &source->reflectors[i];
        if (!reflector_fails(reflector) || !reflector->unreachable)
            continue;
        fault_raise(faults, source->server, api_unreachable, .error = reflector->status->error,
                    .remedy = reflector->remedy);
        return;
    }
    const char *remedy, *why = kube_pulse_lost(source->pulse, &remedy);
    if (why)
        fault_raise(faults, source->server, api_unreachable, .error = why, .remedy = remedy);
}

static void tell_of_api(const struct kube_source *source)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct kube_config *config = kube_client_config(source->client);
    if (config->insecure)
        fault_raise(&faults, source->server, api_certificate_unverified);
    else if (strncmp(config->server, "http:", 5) == 0 && !is_local(config->server))
        fault_raise(&faults, source->server, api_without_tls);
    tell_unreachable(source, &faults);
    tell(source, "", &faults);
}

static void update_status(struct kube_source *source)
{
    struct source_status *status = source->options.status;
    bool synced = true;
    status->unknown_files = 0;
    for (size_t i = 0; i < source->count; i++) {
        struct reflector *reflector = &source->reflectors[i];
        struct kube_kind_status *kind = reflector->status;
        memcpy(kind->resource_version, reflector->version, sizeof(kind->resource_version));
        synced &= kind->synced;
        status->unknown_files += (uint32_t)kube_objects_unknown(&reflector->objects);
        if (kind->last_event_wall_ms > status->last_event_wall_ms)
            status->last_event_wall_ms = kind->last_event_wall_ms;
    }
    status->synced |= synced;
}

static void report(void *context)
{
    struct kube_source *source = context;
    update_status(source);
    for (size_t i = 0; i < source->count; i++)
        tell_of_kind(source, &source->reflectors[i]);
    tell_of_api(source);
    source->options.changed(source->options.context);
}

static void on_changed(void *context)
{
    struct kube_source *source = context;
    source->options.status->observed_generation++;
    deferred_schedule(source->report);
}

/* After an outage the kinds do not wait for the end of their pauses. */
static void hurry(struct kube_source *source)
{
    for (size_t i = 0; i < source->count; i++)
        reflector_hurry(&source->reflectors[i]);
}

static void on_reached(void *context)
{
    struct kube_source *source = context;
    kube_pulse_heard(source->pulse);
    hurry(source);
}

static void on_pulse(void *context)
{
    struct kube_source *source = context;
    const char *remedy;
    if (!kube_pulse_lost(source->pulse, &remedy))
        hurry(source);
    deferred_schedule(source->report);
}

static int start_reflectors(struct kube_source *source, sd_event *event,
                            const struct kube_timing *timing)
{
    struct kube_status *status = &source->options.status->kube;
    const struct kube_asker asker = {
        .node = source->options.node,
        .proxy_name = source->options.proxy_name,
        .all_pods = source->options.all_pods,
    };
    const struct kube_resources *resources = source->options.resources;
    for (size_t i = 0; i < resources->count; i++) {
        struct reflector *reflector = &source->reflectors[i];
        *reflector = (struct reflector){
            .resource = &resources->rows[i],
            .needed = source->options.needed[resources->rows[i].kind],
            .timing = timing,
            .client = source->client,
            .status = &status->kinds[i],
            .changed = on_changed,
            .reached = on_reached,
            .context = source,
        };
        source->count = status->count = i + 1;
        int r = reflector_start(reflector, event, source->options.store, &asker);
        if (r < 0)
            return r;
    }
    return 0;
}

static int start_pulse(struct kube_source *source, sd_event *event,
                       const struct kube_timing *timing)
{
    AUTOFREE char *path = kube_resource_node_path(source->options.node);
    if (!path)
        return -ENOMEM;
    const struct kube_pulse_options options = {
        .client = source->client,
        .timing = timing,
        .path = path,
        .changed = on_pulse,
        .context = source,
    };
    return kube_pulse_new(event, &options, &source->pulse);
}

/* Copies the strings of the options. */
static int own_strings(struct kube_source *source)
{
    struct kube_source_options *options = &source->options;
    options->node = source->node = strdup(options->node);
    options->proxy_name = source->proxy_name = strdup(options->proxy_name);
    source->server = strdup(kube_client_config(source->client)->server);
    return source->node && source->proxy_name && source->server ? 0 : -ENOMEM;
}

int kube_source_start_timed(sd_event *event, const struct kube_source_options *options,
                            const struct kube_timing *timing, struct kube_source **ret_source)
{
    CLEANUP(kube_source_freep) struct kube_source *source = calloc(1, sizeof(*source));
    if (!source) {
        kube_config_free(options->config);
        return -ENOMEM;
    }
    source->options = *options;
    int r = kube_client_new(event, options->config, &source->client);
    if (r < 0)
        return r;
    source->options.config = NULL; /* owned by the client now */
    r = own_strings(source);
    if (r < 0)
        return r;
    r = deferred_new(event, SD_EVENT_PRIORITY_NORMAL, report, source, &source->report);
    if (r < 0)
        return r;
    *options->status = (struct source_status){
        .name = "kubernetes",
        .path = source->server,
        .observed_generation = 1, /* the start: unlisted objects must not count as applied */
    };
    r = start_pulse(source, event, timing);
    if (r < 0)
        return r;
    r = start_reflectors(source, event, timing);
    if (r < 0)
        return r;
    tell_of_api(source);
    if (source->count == 0)
        deferred_schedule(source->report); /* without kinds, everything is known */
    *ret_source = TAKE_PTR(source);
    return 0;
}

int kube_source_start(sd_event *event, const struct kube_source_options *options,
                      struct kube_source **ret_source)
{
    return kube_source_start_timed(event, options, &kube_timing_default, ret_source);
}

uint64_t kube_source_loaded_generation(const struct kube_source *source)
{
    const struct source_status *status = source->options.status;
    return status->synced ? status->observed_generation : 0;
}

void kube_source_free(struct kube_source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < source->count; i++)
        reflector_done(&source->reflectors[i]);
    kube_pulse_free(source->pulse);
    kube_client_free(source->client);
    deferred_free(source->report);
    if (source->options.status->path == source->server)
        source->options.status->path = NULL;
    free(source->server);
    free(source->node);
    free(source->proxy_name);
    free(source);
}
