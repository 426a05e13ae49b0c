// SPDX-License-Identifier: Apache-2.0
/*
 * The agent's API: what it borrows to read from, what an operator may ask for, and where it
 * listens.
 */
#include <errno.h>
#include <grp.h>
#include <string.h>

#include "agentd/activation.h"
#include "agentd/agent_parts.h"
#include "base/file.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"

static int on_drain(void *context)
{
    return standing_drain(((struct agent *)context)->standing);
}

static int on_undrain(void *context)
{
    return standing_undrain(((struct agent *)context)->standing);
}

static int on_withdraw(void *context)
{
    return standing_withdraw(((struct agent *)context)->standing);
}

static int on_trace(void *context, const struct trace_question *question, struct trace *ret_trace)
{
    const struct agent *agent = context;
    return nat_service_trace(agent->nat, question, ret_trace);
}

static const struct api_action actions[] = {
    { "/v1/drain", on_drain },
    { "/v1/undrain", on_undrain },
    { "/v1/withdraw", on_withdraw },
};

/* Counts are brought up to date for who asks, so that idle passes need not. */
static void on_api(const struct http_request *request, struct http_reply *reply, void *context)
{
    struct agent *agent = context;
    route_engine_count(&agent->engine);
    nat_engine_count(nat_service_engine(agent->nat));
    api_handle(request, reply, &agent->api);
}

static void on_public_api(const struct http_request *request, struct http_reply *reply,
                          void *context)
{
    struct agent *agent = context;
    route_engine_count(&agent->engine);
    nat_engine_count(nat_service_engine(agent->nat));
    api_handle_public(request, reply, &agent->api_state);
}

/* The socket's group; without that group only root reads. */
static gid_t socket_group(void)
{
    const struct group *group = getgrnam("fingerpost");
    return group ? group->gr_gid : (gid_t)-1;
}

/* The manager's socket, or else one of our own. */
static int open_socket(struct agent *agent)
{
    AUTOFREE char *path = text_format("%s/agentd.sock", agent->config->paths.run);
    if (!path)
        return -ENOMEM;
    int r = activation_take_socket();
    if (r >= 0) {
        r = http_listen_fd(agent->event, r, on_api, agent, &agent->socket);
    } else if (r == -ENOENT) {
        r = dir_make(agent->config->paths.run);
        if (r == 0)
            r = http_listen_unix(agent->event, path, socket_group(), on_api, agent, &agent->socket);
    }
    if (r < 0)
        log_error("cannot serve %s: %s", path, strerror(-r));
    return r;
}

int agent_open_api(struct agent *agent)
{
    agent->api_state = (struct api_state){
        .status = &agent->status,
        .config = agent->config,
        .store = agent->store,
        .plan = &agent->engine.plan,
        .installed = kernel_routes(agent->kernel),
        .rules = kernel_rules(agent->kernel),
        .links = kernel_links(agent->kernel),
    };
    agent->api = (struct api){
        .state = &agent->api_state,
        .actions = actions,
        .action_count = ARRAY_SIZE(actions),
        .trace = on_trace,
        .action_context = agent,
    };
    int r = open_socket(agent);
    if (r < 0)
        return r;
    r = http_listen_tcp(agent->event, agent->config->api.listen, on_public_api, agent, &agent->tcp);
    if (r < 0)
        log_error("cannot serve %s (api.listen): %s", agent->config->api.listen, strerror(-r));
    return r;
}

void agent_close_api(struct agent *agent)
{
    http_server_free(agent->tcp);
    http_server_free(agent->socket);
}

void agent_refresh_api(struct agent *agent)
{
    agent->api_state.live = nat_service_live(agent->nat);
    agent->api_state.nat = agent->api_state.live ? &nat_service_engine(agent->nat)->rows : NULL;
}
