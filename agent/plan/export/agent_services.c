// SPDX-License-Identifier: Apache-2.0
/*
 * The wanted services of Consul's agent on this node; see agent_services.h. Called by
 * report/consul_keeper.c.
 *
 * plan/export/export.c decides which Services are exported, under which ids, and which are refused:
 * the ids here and those of the controller's documents are the same. A Service behind an ingress is
 * served by the ingress's port, and has its health.
 *
 * A port is healthy if a new connection to it would be served: this node serves, the Service has a
 * usable endpoint (with policy Local: on this node), and NAT, if this agent does it, has proved the
 * Service and found no failure.
 */
#include "plan/export/agent_services.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "plan/export/export.h"
#include "plan/nat/nat_addresses.h"
#include "plan/routes/claim.h"

enum { ARENA_SIZE = 16 * 1024 };

/* The state of one run. */
struct planning {
    const struct agent_services_inputs *inputs;
    struct agent_services *services;
};

int agent_service_cmp(const void *a, const void *b)
{
    const struct agent_service *left = a, *right = b;
    return strcmp(left->id, right->id);
}

/* The node's address of the Service's first family that it has; NULL: none. */
static const struct ip *address_for(const struct node_facts *facts, const struct service *service)
{
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        const struct ip *primary =
            address->origin == ADDRESS_CLUSTER ? nat_primary(facts, address->ip.family) : NULL;
        if (primary)
            return primary;
    }
    const struct ip *v4 = nat_primary(facts, IP_V4);
    return v4 ? v4 : nat_primary(facts, IP_V6);
}

static int failed_route_cmp(const void *a, const void *b)
{
    const struct service_failed_route *left = a, *right = b;
    return strcmp(left->service, right->service);
}

/* The Service's ClusterIP of a family; NULL: none. */
static const struct ip *cluster_ip(const struct service *service, uint8_t family)
{
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (service->addresses[i].origin == ADDRESS_CLUSTER &&
            service->addresses[i].ip.family == family)
            return &service->addresses[i].ip;
    }
    return NULL;
}

/*
 * Why NAT does not serve the Service; NULL: it does, or this agent does no NAT. For NodePorts no
 * proof is kept, only failures. The proof of the ClusterIP shows that the Service is served at all.
 */
static const char *unproved(const struct agent_services_inputs *inputs, uint8_t family,
                            const struct service *server)
{
    if (!inputs->service_proofs)
        return NULL;
    AUTOFREE char *name = text_format("%s/%s", server->object.namespace, server->object.name);
    const struct ip *address = cluster_ip(server, family);
    if (!name || !address)
        return "NAT does not serve a Service without a ClusterIP";
    const struct service_failed_route *failed_route = vec_find(
        inputs->failed_routes, &(struct service_failed_route){ .service = name }, failed_route_cmp);
    const struct service_proof key = { .address = *address, .service = name };
    const struct service_proof *proof = sorted_find(inputs->service_proofs, &key);
    if (failed_route)
        return failed_route->why;
    if (!proof)
        return "NAT has not proved it yet";
    if (proof->as_planned && proof->forwards)
        return NULL;
    return proof->why ? proof->why : "NAT does not serve it";
}

/* Whether the port is served; `ret_why` lives as long as the inputs. Returns 0 or -ENOMEM. */
static int judge(const struct agent_services_inputs *inputs, const struct export_document *document,
                 const struct ip *address, bool *ret_healthy, const char **ret_why)
{
    const struct service *server = document->server;
    struct port_endpoints usable;
    int r = claim_port_endpoints(inputs->facts, server, document->port, address->family, &usable);
    if (r < 0)
        return r;
    bool serves = server->external_local ? usable.local : usable.anywhere;
    const char *why = unproved(inputs, address->family, server);
    if (inputs->standing != STANDING_SERVING)
        why = "this node is out of service";
    else if (!serves)
        why = usable.anywhere ? "no endpoint is ready on this node" : "no endpoint is ready";
    *ret_healthy = !why;
    *ret_why = why ? why : "it would be served";
    return 0;
}

static uint16_t health_port_of(const struct service *server)
{
    return server->type == SERVICE_LOAD_BALANCER && server->external_local
               ? server->health_check_node_port
               : 0;
}

static const char *checks_of(struct arena *arena, const struct agent_service *service,
                             int64_t ttl_ms)
{
    AUTOTEXT struct text text = { 0 };
    if (service->tcp)
        text_add(&text, "tcp ");
    if (service->health_port)
        text_addf(&text, "health=%u ", service->health_port);
    text_addf(&text, "ttl=%lld", (long long)(ttl_ms / SECOND_MS));
    return text_error(&text) < 0 ? NULL : arena_strdup(arena, text_str(&text));
}

static int add_service(struct planning *planning, const struct export_document *document)
{
    const struct agent_services_inputs *inputs = planning->inputs;
    struct arena *arena = planning->services->arena;
    const struct ip *address = address_for(inputs->facts, document->server);
    const char *why;
    if (!address || !document->port->node_port)
        return 0;
    struct agent_service service = {
        .id = arena_strdup(arena, document->id),
        .owner = arena_strdup(arena, document->owner),
        .address = *address,
        .port = document->port->node_port,
        .health_port = health_port_of(document->server),
        .tcp = document->port->protocol == PROTOCOL_TCP,
    };
    int r = judge(inputs, document, address, &service.healthy, &why);
    if (r < 0)
        return r;
    service.why = arena_strdup(arena, why);
    service.checks = checks_of(arena, &service, inputs->facts->config->consul.ttl_ms);
    if (!service.id || !service.owner || !service.why || !service.checks)
        return -ENOMEM;
    return vec_push(&planning->services->list, service);
}

static int add_refused(struct planning *planning, const struct export_refusal *refusal)
{
    const char *owner = arena_strdup(planning->services->arena, refusal->owner);
    return owner ? vec_push(&planning->services->refused, owner) : -ENOMEM;
}

static int plan_all(struct planning *planning)
{
    const struct node_facts *facts = planning->inputs->facts;
    CLEANUP(export_plan_done) struct export_plan plan = { 0 };
    AUTOFAULTS struct faults faults = { 0 }; /* the controller reports them, once for all nodes */
    int r = plan_export_ids(&facts->config->exports, facts->store, &plan, &faults);
    if (r < 0)
        return r;
    vec_each(const struct export_document, document, &plan.documents) {
        r = add_service(planning, document);
        if (r < 0)
            return r;
    }
    vec_each(const struct export_refusal, refusal, &plan.refusals) {
        r = add_refused(planning, refusal);
        if (r < 0)
            return r;
    }
    return 0;
}

int plan_agent_services(const struct agent_services_inputs *inputs,
                        struct agent_services *ret_services)
{
    CLEANUP(agent_services_done)
    struct agent_services services = { .arena = arena_new(ARENA_SIZE) };
    struct planning planning = { inputs, &services };
    int r = services.arena ? plan_all(&planning) : -ENOMEM;
    if (r < 0)
        return r;
    vec_sort(&services.list, agent_service_cmp);
    *ret_services = TAKE_STRUCT(services);
    return 0;
}

void agent_services_done(struct agent_services *services)
{
    vec_done(&services->list);
    vec_done(&services->refused);
    arena_free(services->arena);
    services->arena = NULL;
}

static bool same_service(const struct agent_service *a, const struct agent_service *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->owner, b->owner) == 0 &&
           ip_equal(&a->address, &b->address) && a->port == b->port &&
           a->health_port == b->health_port && a->tcp == b->tcp && a->healthy == b->healthy &&
           strcmp(a->why, b->why) == 0 && strcmp(a->checks, b->checks) == 0;
}

bool agent_services_same(const struct agent_services *a, const struct agent_services *b)
{
    if (a->list.count != b->list.count)
        return false;
    for (size_t i = 0; i < a->list.count; i++) {
        if (!same_service(&a->list.items[i], &b->list.items[i]))
            return false;
    }
    return true;
}
