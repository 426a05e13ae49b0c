// SPDX-License-Identifier: Apache-2.0
/*
 * The table of engines, and the operations over all engines.
 *
 * The order of the table matters: within a stage an engine is called after those whose results it
 * uses. Routes announce what NAT has proved, so the routes engine is behind the NAT engine; the
 * programs of egress are attached behind those of NAT. A new engine is added here, and nowhere else
 * in the passes.
 */
#include "engine/engines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "engine/detectors/detector_engine.h"
#include "engine/egress/egress_engine.h"
#include "engine/events/event_engine.h"
#include "engine/firewall/firewall_engine.h"
#include "engine/nat/nat_engine.h"
#include "engine/pods/pods_engine.h"
#include "engine/routes/route_engine.h"

static const struct engine_ops *const own_table[] = {
    &pods_engine_ops,   /* first: programs are attached where routes lead to pods */
    &nat_engine_ops,    /* what it proves is announced */
    &egress_engine_ops, /* likewise, and behind NAT's programs */
    &route_engine_ops,
    &firewall_engine_ops, /* behind routes: the node that announces an address is its holder */
    &event_engine_ops,    /* writes to the API alone */
    &detector_engine_ops, /* writes nothing */
    NULL,
};

int engines_scope(const struct config *config, const struct engine_ops *const *table,
                  struct kernel_scope *ret_scope)
{
    struct kernel_scope scope = scope_of_node(config->routes.table);
    for (const struct engine_ops *const *ops = table ? table : own_table; *ops; ops++) {
        int r = (*ops)->scope ? (*ops)->scope(config, &scope) : 0;
        if (r < 0)
            return r;
    }
    *ret_scope = scope;
    return 0;
}

int engines_open(const struct engine_setup *setup, const struct engine_ops *const *table,
                 struct engines **ret_engines)
{
    CLEANUP(engines_closep) struct engines *engines = calloc(1, sizeof(*engines));
    if (!engines)
        return -ENOMEM;
    for (const struct engine_ops *const *ops = table ? table : own_table; *ops; ops++) {
        int r = vec_reserve(&engines->list, 1);
        if (r < 0)
            return r;
        r = (*ops)->open(setup, &engines->list.items[engines->list.count]);
        if (r < 0) {
            log_error("engine %s cannot be opened: %s", (*ops)->name, strerror(-r));
            return r;
        }
        engines->list.count++;
    }
    *ret_engines = TAKE_PTR(engines);
    return 0;
}

void engines_close(struct engines *engines)
{
    if (!engines)
        return;
    for (size_t i = engines->list.count; i-- > 0;)
        engines->list.items[i]->ops->close(engines->list.items[i]);
    vec_done(&engines->list);
    free(engines);
}

struct engine *engines_find(const struct engines *engines, const struct engine_ops *ops)
{
    vec_each(struct engine *, engine, &engines->list) {
        if ((*engine)->ops == ops)
            return *engine;
    }
    return NULL;
}

void engines_configure(struct engines *engines, const struct config *config)
{
    vec_each(struct engine *, engine, &engines->list) {
        if ((*engine)->ops->configure)
            (*engine)->ops->configure(*engine, config);
    }
}

void engines_count(struct engines *engines)
{
    vec_each(struct engine *, engine, &engines->list) {
        if ((*engine)->ops->count)
            (*engine)->ops->count(*engine);
    }
}

int64_t engines_next_ms(const struct engines *engines, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;
    vec_each(struct engine *, engine, &engines->list) {
        if ((*engine)->ops->next_ms)
            next_ms = MIN(next_ms, (*engine)->ops->next_ms(*engine, now_ms));
    }
    return next_ms;
}

enum progress engines_progress(const struct engines *engines)
{
    enum progress least = PROGRESS_DONE;
    vec_each(struct engine *, engine, &engines->list) {
        if ((*engine)->ops->progress)
            least = MAX(least, (*engine)->ops->progress(*engine));
    }
    return least;
}
