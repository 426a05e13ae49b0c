// SPDX-License-Identifier: Apache-2.0
/* Reload of the configuration; see reload.h. */
#include "agentd/reload.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

static void must_not_change(struct faults *faults, const char *path, const char *key,
                            const char *old, const char *new)
{
    if (strcmp(old, new) == 0)
        return;
    faults_add(faults, path, "restart agentd, or put the old value back",
               "%s cannot change while agentd runs (%s -> %s)", key, old, new);
}

/* What is opened once at the start: files, sockets, tables. */
static void check_fixed_keys(const char *path, const struct config *old, const struct config *new,
                             struct faults *faults)
{
    char old_table[16], new_table[16];
    snprintf(old_table, sizeof(old_table), "%u", old->routes.table);
    snprintf(new_table, sizeof(new_table), "%u", new->routes.table);
    must_not_change(faults, path, "source.manifests", old->source.manifests, new->source.manifests);
    must_not_change(faults, path, "routes.table", old_table, new_table);
    must_not_change(faults, path, "api.listen", old->api.listen, new->api.listen);
    must_not_change(faults, path, "paths.run", old->paths.run, new->paths.run);
    must_not_change(faults, path, "paths.state", old->paths.state, new->paths.state);
    must_not_change(faults, path, "paths.bpf", old->paths.bpf, new->paths.bpf);
}

struct config *reload_config(const char *path, const struct config *current, struct status *status)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(config_freep) struct config *fresh = NULL;
    int r = config_load(path, &fresh, &faults);
    if (r == 0)
        check_fixed_keys(path, current, fresh, &faults);
    if (r < 0 && faults_none(&faults))
        faults_add(&faults, path, NULL, "cannot be loaded: %s", strerror(-r));

    status->config_refused = !faults_none(&faults);
    (void)fault_book_replace(status->faults, "config", "", &faults, clock_wall_ms());
    if (status->config_refused) {
        log_warning("%s is refused, the old configuration stays in force", path);
        return NULL;
    }
    status->config_loaded_wall_ms = clock_wall_ms();
    log_notice("%s reloaded", path);
    return TAKE_PTR(fresh);
}
