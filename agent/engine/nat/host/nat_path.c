// SPDX-License-Identifier: Apache-2.0
/*
 * The path of masqueraded packets; see nat_path.h. Called when the engine opens, when its
 * configuration changes, and by the upkeep.
 *
 * Bypassing the stack is faster. But no NetworkPolicy, host firewall or XFRM policy sees packets
 * that bypass it. So under `auto` they pass through the stack as soon as it has listeners, or may
 * have some, and bypass it again when there are none. Flows stay on the path on which they began:
 * the first rule ever added sees existing connections only when they begin again.
 */
#include "engine/nat/host/nat_path.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "engine/nat/nat_state.h"

_Static_assert(sizeof(((struct nat_listeners *)0)->early) ==
                   sizeof(((struct nat_engine *)0)->early),
               "it is copied as a whole");
_Static_assert(sizeof(((struct nat_listeners *)0)->who) ==
                   sizeof(((struct nat_status *)0)->listener),
               "it is copied as a whole");

/* Finds the listeners. */
static struct nat_listeners look(struct nat_engine *engine)
{
    struct nat_listeners listeners = { 0 };
    int r = engine->watch ? 0 : nat_watch_open(&engine->watch);
    if (r == 0)
        return nat_watch_look(engine->watch);
    listeners.any = true;
    (void)snprintf(listeners.who, sizeof(listeners.who), "the kernel cannot be asked: %s",
                   strerror(-r));
    return listeners;
}

uint32_t nat_path_mark(const struct config *config)
{
    return config->services.firewall.mode == FIREWALL_MARK ? config->services.firewall.mark : 0;
}

void nat_path_follow(struct nat_engine *engine)
{
    struct nat_status *status = &engine->status->nat;
    const enum packet_path wanted = engine->config->services.path;
    struct nat_listeners listeners = { 0 };
    if (!engine->datapath)
        return;
    if (wanted != PATH_DIRECT)
        listeners = look(engine);
    bool stack = wanted == PATH_STACK || listeners.any;
    const char *path = packet_path_names[stack ? PATH_STACK : PATH_DIRECT];
    if (!status->path || strcmp(status->path, path) != 0)
        log_info("masqueraded packets go %s the stack%s%s", stack ? "through" : "past",
                 *listeners.who ? ", where somebody listens: " : "", listeners.who);
    engine->judged = listeners.judged;
    engine->seals = listeners.xfrm;
    engine->generation = listeners.generation;
    memcpy(engine->early, listeners.early, sizeof(engine->early));
    nat_datapath_set_mark(engine->datapath, nat_path_mark(engine->config),
                          engine->config->services.firewall.node_ports);
    nat_datapath_set_path(engine->datapath, stack, listeners.xfrm, listeners.judged);
    status->path = path;
    memcpy(status->listener, listeners.who, sizeof(status->listener));
}
