// SPDX-License-Identifier: Apache-2.0
/* The engines and the schedule of their passes, as parts of the agent. */
#include <string.h>

#include "agentd/part.h"
#include "base/log.h"
#include "base/text.h"

/* An engine found something that neither store nor kernel tell of. */
static void on_wake(void *context)
{
    struct agent *agent = context;
    schedule_pass(agent->schedule, false);
}

static int open_engines(struct agent *agent)
{
    const struct engine_setup setup = {
        .event = agent->event,
        .looks = agent->looks,
        .config = agent->config,
        .store = agent->store,
        .kernel = agent->kernel,
        .status = &agent->status,
        .board = &agent->board,
        .wake = on_wake,
        .context = agent,
    };
    return engines_open(&setup, NULL, &agent->engines);
}

static void configure_engines(struct agent *agent)
{
    engines_configure(agent->engines, agent->config);
}

static void tell_routes(const struct agent *agent, struct text *text)
{
    const struct route_status *routes = &agent->status.routes;
    text_add_count(text, routes->announced, "address");
    text_addf(text, " announced, %u withheld, ", routes->withheld);
    text_add_count(text, routes->blocks, "block");
}

static void close_engines(struct agent *agent)
{
    engines_close(agent->engines);
}

const struct part part_engines = {
    .name = "engines",
    .open = open_engines,
    .configure = configure_engines,
    .health = tell_routes,
    .close = close_engines,
};

static int prepare(void *context)
{
    int r = pools_prepare(context);
    return r != 0 ? r : pods_prepare(context);
}

static int open_schedule(struct agent *agent)
{
    const struct schedule_options options = {
        .event = agent->event,
        .engines = agent->engines,
        .store = agent->store,
        .kernel = agent->kernel,
        .status = &agent->status,
        .loaded_generation = source_loaded_generation,
        .doubt = source_invalidate,
        .prepare = prepare,
        .passed = agent->passed,
        .context = agent,
    };
    int r = schedule_new(&options, &agent->schedule);
    if (r < 0)
        log_error("cannot schedule passes: %s", strerror(-r));
    return r;
}

/* Whatever changed in the configuration, all is planned by it. */
static void plan_all_again(struct agent *agent)
{
    schedule_pass(agent->schedule, true);
}

static void close_schedule(struct agent *agent)
{
    schedule_free(agent->schedule);
}

const struct part part_schedule = {
    .name = "schedule",
    .open = open_schedule,
    .reload = plan_all_again,
    .close = close_schedule,
};
