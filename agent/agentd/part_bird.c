// SPDX-License-Identifier: Apache-2.0
/*
 * BIRD (bgp.h), as a part of the agent. Routes go on without it: what BIRD says is good to know,
 * and nothing depends on it.
 */
#include <string.h>

#include "agentd/part.h"
#include "base/log.h"
#include "base/text.h"

static void on_bird_changed(void *context)
{
    struct agent *agent = context;
    agent->told(agent);
}

static void watch_bird(struct agent *agent)
{
    int r = bgp_configure(agent->bgp, agent->config);
    if (r < 0)
        log_error("cannot watch BIRD at %s: %s", agent->config->bird.socket, strerror(-r));
}

static int open_bird(struct agent *agent)
{
    const struct bgp_options options = {
        .event = agent->event,
        .status = &agent->status,
        .installed = kernel_routes(agent->kernel),
        .links = kernel_links(agent->kernel),
        .addresses = kernel_link_addresses(agent->kernel),
        .timing = &bird_timing_default,
        .changed = on_bird_changed,
        .context = agent,
    };
    int r = bgp_new(&options, &agent->bgp);
    if (r < 0) {
        log_error("cannot watch BIRD: %s", strerror(-r));
        return r;
    }
    watch_bird(agent);
    return 0;
}

static void ask_soon(struct agent *agent)
{
    bgp_passed(agent->bgp);
}

static void tell_peers(const struct agent *agent, struct text *text)
{
    const struct bird_status *bird = &agent->status.bird;
    if (bird->reachable)
        text_addf(text, "%zu/%zu peers", bird_established(bird), bird->peers.count);
}

static void close_bird(struct agent *agent)
{
    bgp_free(agent->bgp);
}

const struct part part_bird = {
    .name = "bird",
    .open = open_bird,
    .configure = watch_bird,
    .passed = ask_soon,
    .health = tell_peers,
    .close = close_bird,
};
