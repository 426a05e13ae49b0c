// SPDX-License-Identifier: Apache-2.0
/*
 * The agent's API: what it borrows to read from, what an operator may ask for, and where it
 * listens.
 *
 * At the unix socket a thousand requests may wait for their answers, beside those that are answered
 * at once: a container runtime that starts a node's pods asks for all of them together.
 */
#include <errno.h>
#include <grp.h>
#include <string.h>

#include "agentd/part.h"
#include "api/body.h"
#include "base/clock.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/remedy.h"
#include "base/text.h"
#include "engine/egress/egress_engine.h"
#include "engine/nat/nat_engine.h"
#include "engine/pods/pods_engine.h"
#include "engine/routes/route_engine.h"
#include "faults/node.h"
#include "faults/raise.h"
#include "health/endpoint.h"
#include "loop/activation.h"

/* What is asked for and can't be written would be forgotten by the next agent: it is refused. */
static int kept(const struct api_call *call, const struct agent *agent, int r)
{
    AUTOFREE char *place = text_format("%s/standing.json", agent->config->paths.state);
    if (r < 0 && r != -EALREADY)
        fault_raise(call->faults, place, node_drain_unwritten, .reason = strerror(-r),
                    .remedy = remedy_for_file(r));
    return r;
}

/* {"reason": "kernel upgrade", "announceFor": "30s"}, both optional */
static int on_drain(const struct api_call *call, void *context)
{
    static const char *const members[] = { "reason", "announceFor", NULL };
    struct standing_words words = { .announce_for_ms = -1 };
    int r = body_check_members(call->body, members, call->faults);
    if (r < 0)
        return r;
    r = body_line(call->body, "reason", STANDING_REASON_MAX, &words.reason, call->faults);
    if (r < 0)
        return r;
    r = body_duration(call->body, "announceFor", &words.announce_for_ms, call->faults);
    struct agent *agent = context;
    return r < 0 ? r : kept(call, agent, standing_drain(agent->standing, &words));
}

static int on_undrain(const struct api_call *call, void *context)
{
    static const char *const members[] = { NULL };
    int r = body_check_members(call->body, members, call->faults);
    struct agent *agent = context;
    return r < 0 ? r : kept(call, agent, standing_undrain(agent->standing));
}

/* {"reason": "kernel upgrade"} */
static int on_withdraw(const struct api_call *call, void *context)
{
    static const char *const members[] = { "reason", NULL };
    const char *reason = NULL;
    int r = body_check_members(call->body, members, call->faults);
    if (r < 0)
        return r;
    r = body_line(call->body, "reason", STANDING_REASON_MAX, &reason, call->faults);
    struct agent *agent = context;
    return r < 0 ? r : kept(call, agent, standing_withdraw(agent->standing, reason));
}

static const struct http_limits socket_limits = {
    .connections = 1100,
    .silence_s = 30,
    .memory = 16 * 1024,
    .waiting = 1000,
    .wait_s = 60,
    .streams = 32,
};

static const struct api_action actions[] = {
    { "/v1/drain", on_drain },
    { "/v1/undrain", on_undrain },
    { "/v1/withdraw", on_withdraw },
};

static size_t on_admit(const struct http_request *request, struct http_reply *reply, void *context)
{
    return api_admit(request, reply, &((struct agent *)context)->api);
}

/* Counts are brought up to date for who asks, so that idle passes need not. */
static void on_count(void *context)
{
    engines_count(((struct agent *)context)->engines);
}

static void on_api(const struct http_request *request, struct http_reply *reply, void *context)
{
    struct agent *agent = context;
    on_count(agent);
    api_handle(request, reply, &agent->api);
}

enum { SOCKET_RETRY_MS = 5000 };

static void on_public_api(const struct http_request *request, struct http_reply *reply,
                          void *context)
{
    struct agent *agent = context;
    on_count(agent);
    api_handle_public(request, reply, &agent->api_state);
}

/* The socket's group; without that group only root reads. */
static gid_t socket_group(void)
{
    const struct group *group = getgrnam("fingerpost");
    return group ? group->gr_gid : (gid_t)-1;
}

static int make_socket(struct agent *agent, const struct http_service *service, const char *path,
                       struct http_server **ret_server)
{
    int r = dir_make(agent->config->paths.run);
    return r < 0 ? r : http_listen_unix(agent->event, path, socket_group(), service, ret_server);
}

/* The manager's socket where there is one that is to be taken, or else one of our own. */
static int open_socket(struct agent *agent, bool take, struct http_server **ret_server)
{
    AUTOFREE char *path = text_format("%s/agentd.sock", agent->config->paths.run);
    if (!path)
        return -ENOMEM;
    const struct http_service service = {
        .handle = on_api, .admit = on_admit, .context = agent, .limits = &socket_limits
    };
    int r = take ? activation_take_socket() : -ENOENT;
    if (r >= 0)
        r = http_listen_fd(agent->event, r, &service, ret_server);
    else if (r == -ENOENT)
        r = make_socket(agent, &service, path, ret_server);
    if (r < 0)
        log_error("cannot serve %s: %s", path, strerror(-r));
    return r;
}

static void tell_socket(struct agent *agent, int error)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOFREE char *path = text_format("%s/agentd.sock", agent->config->paths.run);
    if (error < 0)
        fault_raise(&faults, path, node_socket_removed, .reason = strerror(-error));
    (void)fault_book_replace(agent->status.faults, "api", "socket", &faults, clock_wall_ms());
}

/* Makes the socket again that a cleaner of /run took away: else nobody can ask this agent. */
static bool look_at_socket(void *context, int64_t now_ms)
{
    struct agent *agent = context;
    struct http_server *fresh = NULL;
    const bool there = http_server_has_file(agent->socket);
    if (there && agent->socket_retry_ms)
        tell_socket(agent, 0); /* somebody has put it back */
    if (there)
        agent->socket_retry_ms = 0;
    if (there || now_ms < agent->socket_retry_ms)
        return false;
    int r = open_socket(agent, false, &fresh);
    tell_socket(agent, r);
    if (r < 0) {
        agent->socket_retry_ms = now_ms + SOCKET_RETRY_MS;
        return false;
    }
    log_notice("made the socket of the API again, which somebody had removed");
    http_server_free(agent->socket);
    agent->socket = fresh;
    return false;
}

static const struct look looks[] = { { "socket", 500, look_at_socket, NULL } };

/* What the documents are made of. All of it lives as long as the parts that it belongs to. */
static void borrow_state(struct agent *agent)
{
    const struct engine *pods = engines_find(agent->engines, &pods_engine_ops);
    struct engine *nat = engines_find(agent->engines, &nat_engine_ops);
    const struct egress_plan *egress =
        egress_engine_plan(engines_find(agent->engines, &egress_engine_ops));
    const struct pool_allocator *allocator =
        agent->pools ? pool_keeper_allocator(agent->pools) : NULL;
    bool serves = nat_engine_datapath(nat) != NULL;
    agent->api_state = (struct api_state){
        .status = &agent->status,
        .config = agent->config,
        .store = agent->store,
        .plan = route_engine_plan(engines_find(agent->engines, &route_engine_ops)),
        .installed = kernel_routes(agent->kernel),
        .rules = kernel_rules(agent->kernel),
        .links = kernel_links(agent->kernel),
        .nat = serves ? nat_engine_rows(nat) : NULL,
        .pools = allocator ? &allocator->table : NULL,
        .assignments = allocator ? &allocator->assignments : NULL,
        .allocator = allocator,
        .egress = egress,
        .live = serves ? &agent->live : NULL,
        .egress_live = egress ? &agent->egress_live : NULL,
        .pods = agent->pods_live.attachments ? &agent->pods_live : NULL,
        .chained = egress ? pods_engine_chain_list(pods) : NULL,
        .claims = &agent->claims_live,
    };
    agent->api = (struct api){
        .state = &agent->api_state,
        .actions = actions,
        .action_count = ARRAY_SIZE(actions),
        .changes = agent->changes,
        .pods = agent->pods_api,
        .trace = services_trace,
        .action_context = agent,
    };
}

static int open_api(struct agent *agent)
{
    const struct api_changes_options options = {
        .event = agent->event, .state = &agent->api_state, .count = on_count, .context = agent
    };
    int r = api_changes_new(&options, &agent->changes);
    if (r < 0)
        return r;
    borrow_state(agent);
    r = open_socket(agent, true, &agent->socket);
    if (r < 0)
        return r;
    r = looks_add(agent->looks, looks, ARRAY_SIZE(looks), agent);
    if (r < 0)
        return r;
    const struct endpoint_options listener = {
        .event = agent->event,
        .faults = agent->status.faults,
        .subsystem = "api",
        .group = "listen",
        .setting = "api.listen",
        .what = "metrics and probes",
        .taken = "find out who has it (ss -ltnp), or name another port there",
        .handle = on_public_api,
        .context = agent,
    };
    return endpoint_serve(&agent->tcp, &listener, agent->config->api.listen);
}

static void configure_api(struct agent *agent)
{
    agent->api_state.config = agent->config;
}

static void close_api(struct agent *agent)
{
    endpoint_free(TAKE_PTR(agent->tcp));
    http_server_free(agent->socket);
    api_changes_free(TAKE_PTR(agent->changes));
}

const struct part part_api = {
    .name = "api",
    .open = open_api,
    .configure = configure_api,
    .close = close_api,
};
