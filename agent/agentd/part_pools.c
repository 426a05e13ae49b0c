// SPDX-License-Identifier: Apache-2.0
/* LoadBalancer addresses in manifest mode (pool_keeper.h), as a part of the agent. */
#include <errno.h>
#include <string.h>

#include "agentd/part.h"
#include "base/log.h"
#include "engine/nat/nat_engine.h"

static int each_owner(void *context, const struct ip *ip,
                      int (*each)(const char *namespace, const char *name, void *with), void *with)
{
    struct nat_datapath *datapath = nat_engine_datapath(context);
    return datapath ? nat_datapath_each_owner(datapath, ip, each, with) : -ENODATA;
}

static int open_pools(struct agent *agent)
{
    const struct pool_keeper_options options = {
        .config = agent->config,
        .store = agent->store,
        .status = &agent->status,
        .routes = kernel_routes(agent->kernel),
        .each_owner = each_owner,
        .context = engines_find(agent->engines, &nat_engine_ops),
    };
    const struct outside_options outside = {
        .config = agent->config,
        .store = agent->store,
        .status = &agent->status,
        .routes = kernel_routes(agent->kernel),
    };
    int r = outside_keeper_new(&outside, &agent->outside);
    if (r < 0)
        log_error("cannot keep addresses outside of pools: %s", strerror(-r));
    if (r < 0 || !agent->config->pools.allocate)
        return r;
    r = pool_keeper_new(&options, &agent->pools);
    if (r < 0)
        log_error("cannot give addresses (pools.allocate): %s", strerror(-r));
    return r;
}

static void configure_pools(struct agent *agent)
{
    outside_keeper_set_config(agent->outside, agent->config);
    if (agent->pools)
        pool_keeper_set_config(agent->pools, agent->config);
}

int pools_prepare(void *context)
{
    struct agent *agent = context;
    int r = agent->pools ? pool_keeper_run(agent->pools) : 0;
    return r != 0 ? r : outside_keeper_run(agent->outside);
}

static void close_pools(struct agent *agent)
{
    pool_keeper_free(agent->pools);
    outside_keeper_free(agent->outside);
}

const struct part part_pools = {
    .name = "pools",
    .open = open_pools,
    .configure = configure_pools,
    .close = close_pools,
};
