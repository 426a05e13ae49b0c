// SPDX-License-Identifier: Apache-2.0
/* Reload of the configuration; see reload.h. */
#include "agentd/reload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/remedy.h"
#include "faults/config.h"
#include "faults/raise.h"

static void must_not_change(struct faults *faults, const char *path, const char *key,
                            const char *old, const char *fresh)
{
    if (strcmp(old, fresh) == 0)
        return;
    fault_raise(faults, path, config_key_fixed, .key = key, .old = old, .fresh = fresh);
}

static void number_must_not_change(struct faults *faults, const char *path, const char *key,
                                   uint64_t old, uint64_t fresh)
{
    char old_text[24], fresh_text[24];
    snprintf(old_text, sizeof(old_text), "%" PRIu64, old);
    snprintf(fresh_text, sizeof(fresh_text), "%" PRIu64, fresh);
    must_not_change(faults, path, key, old_text, fresh_text);
}

/* The source in words; the configuration has exactly one. */
static const char *source_of(const struct config *config)
{
    if (config->source.manifests)
        return config->source.manifests;
    return config->source.kubeconfig ? config->source.kubeconfig : "kubernetes: {}";
}

/* Whether this node is a gateway. */
static const char *gateway_of(const struct config *config)
{
    return config->egress.gateway.enabled ? "set" : "not set";
}

/* What is opened once at the start: files, sockets, tables, maps, and what the API is asked for. */
static void check_fixed_keys(const char *path, const struct config *old, const struct config *fresh,
                             struct faults *faults)
{
    must_not_change(faults, path, "source", source_of(old), source_of(fresh));
    if (old->source.kubernetes) {
        must_not_change(faults, path, "node", old->node, fresh->node);
        must_not_change(faults, path, "services.proxyName", old->services.proxy_name,
                        fresh->services.proxy_name);
    }
    number_must_not_change(faults, path, "source.maxFileSize", old->source.max_file_bytes,
                           fresh->source.max_file_bytes);
    number_must_not_change(faults, path, "routes.table", old->routes.table, fresh->routes.table);
    must_not_change(faults, path, "services.enabled", old->services.enabled ? "true" : "false",
                    fresh->services.enabled ? "true" : "false");
    number_must_not_change(faults, path, "services.maps.flows", old->services.max_flows,
                           fresh->services.max_flows);
    number_must_not_change(faults, path, "services.maps.services", old->services.max_services,
                           fresh->services.max_services);
    number_must_not_change(faults, path, "services.maps.endpoints", old->services.max_endpoints,
                           fresh->services.max_endpoints);
    must_not_change(faults, path, "egress.enabled", old->egress.enabled ? "true" : "false",
                    fresh->egress.enabled ? "true" : "false");
    must_not_change(faults, path, "egress.gateway", gateway_of(old), gateway_of(fresh));
    must_not_change(faults, path, "pools.allocate", old->pools.allocate ? "true" : "false",
                    fresh->pools.allocate ? "true" : "false");
    must_not_change(faults, path, "pods.enabled", old->pods.enabled ? "true" : "false",
                    fresh->pods.enabled ? "true" : "false");
    number_must_not_change(faults, path, "pods.table", old->pods.table, fresh->pods.table);
    must_not_change(faults, path, "api.listen", old->api.listen, fresh->api.listen);
    must_not_change(faults, path, "paths.run", old->paths.run, fresh->paths.run);
    must_not_change(faults, path, "paths.state", old->paths.state, fresh->paths.state);
    must_not_change(faults, path, "paths.bpf", old->paths.bpf, fresh->paths.bpf);
}

struct config *reload_config(const char *path, const struct config *current, struct status *status)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(config_freep) struct config *fresh = NULL;
    int r = config_load(path, &fresh, &faults);
    if (r == 0)
        check_fixed_keys(path, current, fresh, &faults);
    if (r < 0 && faults_none(&faults))
        fault_raise(&faults, path, config_unloadable, .reason = strerror(-r),
                    .remedy = remedy_for_file(r));

    status->config_refused = !faults_none(&faults);
    (void)fault_book_replace(status->faults, "config", "", &faults, clock_wall_ms());
    if (status->config_refused) {
        log_event(&event_config_refused, LOG_FIELDS({ "OBJECT", path }),
                  "%s is refused, the old configuration stays in force", path);
        return NULL;
    }
    status->config_loaded_wall_ms = clock_wall_ms();
    log_event(&event_config_reloaded, LOG_FIELDS({ "OBJECT", path }), "%s reloaded", path);
    return TAKE_PTR(fresh);
}
