// SPDX-License-Identifier: Apache-2.0
/* Helpers for the state of the routes engine; see route_state.h. */
#include "engine/routes/route_state.h"

#include "engine/facts.h"

struct node_facts route_facts_now(const struct route_engine *engine)
{
    return node_facts_of(engine->config, engine->store, engine->kernel, &engine->board->leads,
                         &engine->board->defaults);
}
