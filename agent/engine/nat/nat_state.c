// SPDX-License-Identifier: Apache-2.0
/* Makes and frees the NAT engine's state between rounds; see nat_state.h. */
#include "engine/nat/nat_state.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/facts.h"

void nat_state_init(struct nat_engine *engine, const struct engine_setup *setup)
{
    *engine = (struct nat_engine){
        .config = setup->config,
        .store = setup->store,
        .kernel = setup->kernel,
        .status = setup->status,
        .board = setup->board,
        .rows = SORTED(struct nat_row *, nat_row_cmp),
        .unproved = SORTED(struct nat_row *, nat_row_cmp),
        .to_prove = SORTED(struct nat_row *, nat_row_cmp),
        .retry = { .initial_ms = 100, .max_ms = 30 * SECOND_MS },
        .retry_ms = INT64_MAX,
    };
    nat_proofs_init(&engine->proofs);
    nat_triggers_init(&engine->triggers);
}

void nat_state_drop_updates(struct nat_engine *engine)
{
    vec_each(struct nat_update, turn, &engine->turns)
        nat_row_free(turn->after);
    vec_done(&engine->turns);
}

void nat_state_done(struct nat_engine *engine)
{
    nat_state_drop_updates(engine);
    vec_each(struct nat_retired, retired, &engine->retired)
        nat_row_free(retired->row);
    vec_done(&engine->retired);
    vec_done(&engine->work.keys);
    vec_done(&engine->node_ports);
    sorted_done(&engine->unproved);
    sorted_done(&engine->to_prove);
    nat_rows_done(&engine->rows);
    nat_proofs_done(&engine->proofs);
    nat_triggers_done(&engine->triggers);
    nat_paths_done(&engine->paths);
    nat_node_done(&engine->node);
    nat_datapath_close(engine->datapath);
    nat_watch_close(engine->watch);
    passage_close(engine->firewall.passage);
    vec_done(&engine->routers.list);
    vec_done(&engine->silent_pods.list);
    nat_set_pods_done(&engine->set_pods);
    nl_close(engine->socket);
    nl_close(engine->diag);
}

struct node_facts nat_state_facts(const struct nat_engine *engine)
{
    return node_facts_of(engine->config, engine->store, engine->kernel, &engine->board->leads,
                         &engine->board->defaults);
}

struct nat_row *nat_state_row(const struct nat_engine *engine, const char *namespace,
                              const char *name)
{
    struct nat_row key = { .namespace = (char *)namespace, .name = (char *)name }, *at = &key;
    struct nat_row **found = sorted_find(&engine->rows, &at);
    return found ? *found : NULL;
}

void nat_state_report(struct nat_engine *engine, const char *group, const struct faults *faults)
{
    (void)fault_book_replace(engine->status->faults, "services", group, faults, clock_wall_ms());
}

void nat_state_report_row(struct nat_engine *engine, const char *sort, const struct nat_row *row,
                          const struct faults *faults)
{
    AUTOFREE char *group = text_format("%s %s/%s", sort, row->namespace, row->name);
    if (group)
        nat_state_report(engine, group, faults);
}
