// SPDX-License-Identifier: Apache-2.0
/*
 * The locks on the state folder and on this network namespace, and the kernel: the parts that come
 * first, since nothing may be read or written by two agents of one folder or of one kernel.
 */
#include <errno.h>
#include <string.h>

#include "agentd/part.h"
#include "base/lock.h"
#include "base/log.h"

/* That a stranger has the name keeps nobody from serving. */
static int take_network_lock(struct agent *agent)
{
    pid_t holder = 0;
    agent->network_lock = lock_take_network(&holder);
    if (agent->network_lock == -EBUSY) {
        log_error(
            "another agentd (process %d) serves this network namespace, by a configuration of "
            "its own: stop it first; nothing was touched",
            (int)holder);
        return -EBUSY;
    }
    if (agent->network_lock < 0)
        log_warning("cannot make sure that no other agentd serves this network namespace: %s",
                    strerror(-agent->network_lock));
    return 0;
}

static int take_lock(struct agent *agent)
{
    const char *state = agent->config->paths.state;
    pid_t holder = 0;
    agent->lock = lock_take(state, &holder);
    if (agent->lock >= 0)
        return take_network_lock(agent);
    if (agent->lock == -EBUSY)
        log_error("another agentd (process %d) runs on %s: stop it first, or give this one its own "
                  "paths.state",
                  (int)holder, state);
    else
        log_error("cannot lock %s: %s", state, strerror(-agent->lock));
    return agent->lock;
}

static void release_lock(struct agent *agent)
{
    closep(&agent->network_lock);
    closep(&agent->lock);
}

/* paths.state cannot change while the agent runs (reload.c). */
const struct part part_lock = { .name = "lock", .open = take_lock, .close = release_lock };

static int open_kernel(struct agent *agent)
{
    struct kernel_scope scope;
    int r = engines_scope(agent->config, NULL, &scope);
    if (r == 0)
        r = kernel_open(&scope, NL_HERE, &agent->kernel);
    if (r < 0)
        log_error("cannot read the kernel's routing tables: %s", strerror(-r));
    return r;
}

static void close_kernel(struct agent *agent)
{
    kernel_close(agent->kernel);
}

/* routes.table cannot change either. */
const struct part part_kernel = { .name = "kernel", .open = open_kernel, .close = close_kernel };
