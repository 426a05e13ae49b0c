// SPDX-License-Identifier: Apache-2.0
/* The state of the Consul agent; see consul_there.h. Services are read first, then their checks. */
#include "report/consul_there.h"

#include <errno.h>
#include <string.h>

#include "client/consul/consul_agent.h"
#include "faults/export.h"
#include "faults/raise.h"

enum { ARENA_SIZE = 16 * 1024 };

struct reading {
    struct consul_there *there;
    const char *cluster;
};

static int add_there(void *context, const struct consul_agent_service *service)
{
    struct reading *reading = context;
    struct arena *arena = reading->there->arena;
    const struct agent_service_there there = {
        .id = arena_strdup(arena, service->id),
        .name = arena_strdup(arena, service->name),
        .address = arena_strdup(arena, service->address),
        .cluster = arena_strdup(arena, consul_agent_meta(service, CONSUL_META_CLUSTER)),
        .owner = arena_strdup(arena, consul_agent_meta(service, CONSUL_META_SERVICE)),
        .checks = arena_strdup(arena, consul_agent_meta(service, CONSUL_META_CHECKS)),
        .port = service->port,
        .exporter = consul_agent_has_tag(service, CONSUL_EXPORTER_TAG) &&
                    consul_agent_has_tag(service, reading->cluster),
        .why = "",
    };
    if (!there.id || !there.name || !there.address || !there.cluster || !there.owner ||
        !there.checks)
        return -ENOMEM;
    return vec_push(&reading->there->list, there);
}

/* Of the node, or of a service that this agent registered. */
static int add_maintenance(struct consul_there *there, const struct consul_agent_check *check)
{
    const struct agent_service_there key = { .id = check->service };
    const struct agent_service_there *service =
        *check->service ? vec_find(&there->list, &key, agent_service_there_cmp) : NULL;
    if (*check->service && (there->shut || !service || !*service->owner))
        return 0;
    there->shut = arena_strdup(there->arena, check->service);
    there->reason = arena_strdup(there->arena, check->maintenance);
    return there->shut && there->reason ? 0 : -ENOMEM;
}

void consul_there_hide(struct consul_there *there)
{
    there->shut = "";
    there->reason = "why, is told to tokens with node:read";
}

void consul_there_tell(const struct consul_there *there, const char *address, struct faults *faults)
{
    if (!there->shut)
        return;
    if (!*there->shut)
        fault_raise(faults, address, consul_agent_maintenance, .reason = there->reason);
    else
        fault_raise(faults, there->shut, consul_service_maintenance, .reason = there->reason);
}

static int add_check(void *context, const struct consul_agent_check *check)
{
    struct consul_there *all = context;
    if (check->maintenance)
        return add_maintenance(all, check);
    const struct agent_service_there key = { .id = check->service };
    struct agent_service_there *there = vec_find(&all->list, &key, agent_service_there_cmp);
    const char *why = there ? arena_strdup(all->arena, check->output) : "";
    if (!there)
        return 0;
    if (!why)
        return -ENOMEM;
    there->has_state = true;
    there->healthy = strcmp(check->status, "passing") == 0;
    there->why = why;
    return 0;
}

int consul_there_read(struct consul_there *there, const char *cluster, const char *body,
                      size_t size)
{
    struct reading reading = { there, cluster };
    consul_there_done(there);
    there->arena = arena_new(ARENA_SIZE);
    if (!there->arena)
        return -ENOMEM;
    int r = consul_agent_read_services(body, size, add_there, &reading);
    vec_sort(&there->list, agent_service_there_cmp);
    return r;
}

int consul_there_add_checks(struct consul_there *there, const char *body, size_t size)
{
    return consul_agent_read_checks(body, size, add_check, there);
}

void consul_there_done(struct consul_there *there)
{
    vec_done(&there->list);
    arena_free(there->arena);
    there->arena = NULL;
    there->shut = there->reason = NULL;
}
