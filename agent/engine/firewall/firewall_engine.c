// SPDX-License-Identifier: Apache-2.0
/*
 * The firewall engine; see firewall_engine.h. Its unit is the Service: the ports that a Service
 * opens are planned again when NAT would plan the Service again. The sets then contain the ports of
 * all Services, except what scope excludes.
 *
 * The table is read when its contents are unknown: at the start, in a round over all, after a
 * foreign change (reported by nftables' notifications, which wake a round) and after a failure. A
 * change of objects writes the elements that differ, and nothing else. A table with other rules is
 * replaced as a whole.
 *
 * Before the source has synced nothing is removed. With mode off a table that is left over from
 * before is removed. A refusal of the kernel is a fault, and is retried with exponential backoff;
 * no other engine waits for that.
 */
#include "engine/firewall/firewall_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/firewall/firewall.h"
#include "base/clock.h"
#include "base/log.h"
#include "detect/detector.h"
#include "engine/facts.h"
#include "faults/firewall.h"
#include "faults/raise.h"
#include "loop/backoff.h"
#include "plan/firewall/openings_update.h"

enum { RETRY_MS = 1000, RETRY_MAX_MS = 60 * 1000 };

struct firewall_engine {
    struct engine engine; /* first member: the pass uses only this */
    struct engine_setup setup;
    struct firewall *firewall; /* NULL: mode off, or the kernel lacks it */
    sd_event_source *news;
    struct sorted rows; /* struct openings_row */
    nat_key_list keys;  /* Services to plan again; of this round's objects */
    bool all;           /* all of them */
    bool changed;       /* the sets may have to change */
    bool foreign;       /* another program changed the table */
    bool known; /* `there` is the table's content in the kernel; its rules are the wanted ones */
    struct firewall_sets there;
    bool left_over; /* mode off: an earlier table still has to be searched for */
    int error;      /* of the last write */
    struct nl_result said;
    struct backoff backoff;
    int64_t retry_ms; /* INT64_MAX: nothing failed */
    char dropper[96]; /* mode accept: a foreign chain that still drops the traffic; "": none */
};

static struct firewall_engine *of(struct engine *engine)
{
    return (struct firewall_engine *)engine;
}

static const struct config *config_of(const struct firewall_engine *engine)
{
    return engine->setup.config;
}

static bool is_on(const struct firewall_engine *engine)
{
    return config_of(engine)->services.firewall.mode != FIREWALL_OFF;
}

static struct firewall_rules rules_of(const struct firewall_engine *engine)
{
    const struct config *config = config_of(engine);
    const bool marks = config->services.firewall.mode == FIREWALL_MARK;
    return (struct firewall_rules){ marks ? config->services.firewall.mark : 0 };
}

static int on_news(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct firewall_engine *engine = userdata;
    (void)source, (void)fd, (void)events;
    int r = firewall_hear(engine->firewall);
    if (r == 0)
        return 0;
    engine->foreign = true;
    engine->known = false;
    engine->setup.wake(engine->setup.context);
    return 0;
}

static void shut(struct firewall_engine *engine)
{
    sd_event_source_disable_unref(TAKE_PTR(engine->news));
    firewall_close(TAKE_PTR(engine->firewall));
    engine->known = false;
}

/* Retried until it can be opened. */
static int open_table(struct firewall_engine *engine)
{
    if (engine->firewall)
        return 0;
    int r = firewall_open(&engine->firewall);
    if (r == 0)
        r = sd_event_add_io(engine->setup.event, &engine->news, firewall_fd(engine->firewall),
                            EPOLLIN, on_news, engine);
    if (r < 0)
        shut(engine);
    return MIN(r, 0);
}

static int open_engine(const struct engine_setup *setup, struct engine **ret_engine)
{
    struct firewall_engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return -ENOMEM;
    engine->engine.ops = &firewall_engine_ops;
    engine->setup = *setup;
    engine->rows = (struct sorted)SORTED(struct openings_row, openings_row_cmp);
    engine->backoff = (struct backoff){ .initial_ms = RETRY_MS, .max_ms = RETRY_MAX_MS };
    engine->all = engine->left_over = true;
    engine->retry_ms = INT64_MAX;
    *ret_engine = &engine->engine;
    return 0;
}

static void close_engine(struct engine *any)
{
    struct firewall_engine *engine = of(any);
    shut(engine);
    openings_rows_done(&engine->rows);
    vec_done(&engine->keys);
    firewall_sets_done(&engine->there);
    free(engine);
}

static void configure(struct engine *any, const struct config *config)
{
    struct firewall_engine *engine = of(any);
    engine->setup.config = config;
    engine->all = engine->left_over = true;
    engine->known = false;
}

static struct node_facts facts_of(const struct firewall_engine *engine)
{
    const struct engine_setup *setup = &engine->setup;
    return node_facts_of(setup->config, setup->store, setup->kernel, &setup->board->leads,
                         &setup->board->defaults);
}

static int note(struct engine *any, const struct change *change, struct round *round)
{
    struct firewall_engine *engine = of(any);
    const enum kind kind = (change->after ? change->after : change->before)->kind;
    bool settings = false;
    (void)round;
    if (!is_on(engine) || kind == KIND_ENDPOINT_SLICE)
        return 0;
    const struct node_facts facts = facts_of(engine);
    return plan_nat_affected(&facts, change, &engine->keys, &engine->all, &settings);
}

/* The kernel's events report the holder of an address, and the Services' own addresses. */
static int hear(struct engine *any, const struct kernel_events *events, struct round *round)
{
    struct firewall_engine *engine = of(any);
    (void)round;
    engine->changed |= events->addresses || events->resynced || events->routes.count > 0;
    engine->all |= events->addresses || events->resynced;
    return 0;
}

static int plan(struct engine *any, struct round *round)
{
    struct firewall_engine *engine = of(any);
    if (!is_on(engine))
        return 0;
    const struct node_facts facts = facts_of(engine);
    int r = openings_update(&facts, &engine->keys, engine->all || round->all, &engine->rows);
    engine->changed |= r > 0 || round->all;
    engine->known &= !round->all;
    return MIN(r, 0);
}

/* ---- planning ---- */

static int want_openings(const struct firewall_engine *engine, opening_list *list)
{
    const bool holder = config_of(engine)->services.firewall.scope == FIREWALL_HOLDER;
    const struct sorted *routes = kernel_routes(engine->setup.kernel);
    const struct node_facts facts = facts_of(engine);
    sorted_each(const struct openings_row, row, &engine->rows) {
        vec_each(const struct opening, opening, &row->openings) {
            if (holder && !opening_is_held(&facts, routes, &opening->ip))
                continue;
            if (vec_push(list, *opening) < 0)
                return -ENOMEM;
        }
    }
    vec_sort(list, opening_cmp);
    vec_drop_equal(list, opening_cmp);
    return 0;
}

static int want_closed(const struct firewall_engine *engine, const opening_list *openings,
                       ip_list *list)
{
    AUTOVEC ip_list addresses = { 0 };
    const struct node_facts facts = facts_of(engine);
    int r = openings_addresses(openings, &addresses);
    if (r < 0)
        return r;
    vec_each(const struct ip, ip, &addresses) {
        if (opening_may_close(&facts, ip))
            r = vec_push(list, *ip);
        if (r < 0)
            return r;
    }
    return 0;
}

static int want(const struct firewall_engine *engine, struct firewall_sets *sets)
{
    int r = want_openings(engine, &sets->openings);
    if (r < 0)
        return r;
    if (config_of(engine)->services.firewall.mode == FIREWALL_ACCEPT)
        r = want_closed(engine, &sets->openings, &sets->closed);
    return r;
}

/* ---- writing ---- */

/* Before the source has synced, ports that an earlier agent opened stay open. */
static int keep_there(const struct firewall_engine *engine, struct firewall_sets *sets)
{
    int r = vec_append(&sets->openings, &engine->there.openings);
    if (r < 0)
        return r;
    vec_sort(&sets->openings, opening_cmp);
    vec_drop_equal(&sets->openings, opening_cmp);
    return 0;
}

static int diff_closed(const ip_list *there, const ip_list *wanted, ip_list *come)
{
    vec_each(const struct ip, ip, wanted) {
        if (!vec_find(there, ip, ip_item_cmp) && vec_push(come, *ip) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int change(struct firewall_engine *engine, const struct firewall_sets *wanted,
                  struct round *round)
{
    struct firewall_status *status = &engine->setup.status->firewall;
    AUTOSETS struct firewall_sets come = { 0 }, go = { 0 };
    int r = openings_diff(&engine->there.openings, &wanted->openings, &come.openings, &go.openings);
    if (r < 0)
        return r;
    r = diff_closed(&engine->there.closed, &wanted->closed, &come.closed);
    if (r < 0)
        return r;
    r = diff_closed(&wanted->closed, &engine->there.closed, &go.closed);
    const size_t count =
        come.openings.count + come.closed.count + go.openings.count + go.closed.count;
    if (r < 0 || count == 0)
        return r;
    r = firewall_change(engine->firewall, &come, &go, &engine->said);
    if (r < 0)
        return r;
    round->changes += (uint32_t)count;
    round->repairs += engine->foreign ? (uint32_t)count : 0;
    status->repairs += engine->foreign;
    status->added += come.openings.count;
    status->removed += go.openings.count;
    return 0;
}

static int replace(struct firewall_engine *engine, const struct firewall_sets *wanted,
                   struct round *round)
{
    struct firewall_status *status = &engine->setup.status->firewall;
    const struct firewall_rules rules = rules_of(engine);
    int r = firewall_replace(engine->firewall, &rules, wanted, &engine->said);
    if (r < 0)
        return r;
    round->changes++;
    round->repairs += engine->foreign;
    status->repairs += engine->foreign;
    status->replaced++;
    log_info("nftables: table inet %s is made anew: mode %s, %zu ports opened", OURS_NFTABLES_TABLE,
             firewall_mode_names[config_of(engine)->services.firewall.mode],
             wanted->openings.count);
    return 0;
}

/* Reads the table if it is unknown; `ret_good`: its rules are the wanted ones. */
static int learn(struct firewall_engine *engine, bool *ret_good)
{
    AUTOSETS struct firewall_sets there = { 0 };
    const struct firewall_rules rules = rules_of(engine);
    enum firewall_state state = FIREWALL_GOOD;
    if (!engine->known) {
        int r = firewall_read(engine->firewall, &rules, &state, &there);
        if (r < 0)
            return r;
        firewall_sets_done(&engine->there);
        engine->there = TAKE_STRUCT(there);
    }
    *ret_good = state == FIREWALL_GOOD;
    return 0;
}

static int bring_in_line(struct firewall_engine *engine, struct round *round)
{
    AUTOSETS struct firewall_sets wanted = { 0 };
    bool good;
    int r = open_table(engine);
    if (r < 0)
        return r;
    r = learn(engine, &good);
    if (r < 0)
        return r;
    r = want(engine, &wanted);
    if (r < 0)
        return r;
    if (!round->may_remove)
        r = keep_there(engine, &wanted);
    if (r < 0)
        return r;
    r = good ? change(engine, &wanted, round) : replace(engine, &wanted, round);
    if (r < 0)
        return r;
    firewall_sets_done(&engine->there);
    engine->there = TAKE_STRUCT(wanted);
    engine->known = true;
    engine->changed = engine->foreign = false;
    return 0;
}

/* Traffic that we accept may still be dropped by a foreign chain's policy: that is reported. */
static void look_for_dropper(struct firewall_engine *engine)
{
    *engine->dropper = '\0';
    if (config_of(engine)->services.firewall.mode == FIREWALL_ACCEPT)
        (void)firewall_find_drop(engine->firewall, engine->dropper, sizeof(engine->dropper));
}

static int remove_left_over(struct firewall_engine *engine)
{
    CLEANUP(firewall_closep) struct firewall *firewall = NULL;
    shut(engine);
    int r = firewall_open(&firewall);
    if (r == 0)
        r = firewall_remove(firewall);
    engine->left_over = r < 0 && r != -EOPNOTSUPP && r != -EPERM;
    if (r > 0)
        log_info("nftables: table inet %s is removed: services.firewall is off",
                 OURS_NFTABLES_TABLE);
    return engine->left_over ? r : 0;
}

/*
 * With scope holder, ports of announced addresses are open: the route engine has written in this
 * round.
 */
static bool holds_others(const struct firewall_engine *engine, const struct round *round)
{
    return round->routes_moved && config_of(engine)->services.firewall.scope == FIREWALL_HOLDER;
}

static int write_table(struct engine *any, struct round *round)
{
    struct firewall_engine *engine = of(any);
    engine->changed |= holds_others(engine, round);
    const bool due = engine->changed || !engine->known || round->now_ms >= engine->retry_ms;
    int r = 0;
    if (round->now_ms < engine->retry_ms && engine->error < 0)
        return 0;
    engine->said = (struct nl_result){ 0 };
    if (!is_on(engine) && engine->left_over)
        r = remove_left_over(engine);
    else if (is_on(engine) && due)
        r = bring_in_line(engine, round);
    if (r == 0 && is_on(engine) && (round->all || engine->foreign))
        look_for_dropper(engine);
    engine->error = r;
    engine->known &= r == 0;
    engine->retry_ms = r < 0 ? round->now_ms + backoff_next(&engine->backoff) : INT64_MAX;
    if (r == 0)
        backoff_reset(&engine->backoff);
    return r == -ENOMEM ? r : 0;
}

/* ---- reporting ---- */

static const char *remedy_of(int error)
{
    if (error == -EOPNOTSUPP || error == -EINVAL)
        return "this kernel lacks nftables (CONFIG_NF_TABLES, CONFIG_NF_TABLES_INET) or its "
               "modules may not be loaded: modprobe nf_tables, or services.firewall.mode: off";
    if (error == -EPERM)
        return "agentd needs CAP_NET_ADMIN: see its unit";
    return "see: nft list table inet " OURS_NFTABLES_TABLE;
}

static void tell(struct firewall_engine *engine)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct detector_facts facts = { .config = config_of(engine),
                                          .firewall = { .drop_chain = engine->dropper } };
    if (engine->error < 0)
        fault_raise(&faults, "nftables, table inet " OURS_NFTABLES_TABLE, firewall_unwritable,
                    .reason = strerror(-engine->error), .detail = engine->said.text,
                    .remedy = remedy_of(engine->error));
    else
        detector_find("firewall-overruled")->detect(&facts, &faults);
    (void)fault_book_replace(engine->setup.status->faults, "services", "nftables", &faults,
                             clock_wall_ms());
}

static void publish(struct engine *any, struct round *round)
{
    struct firewall_engine *engine = of(any);
    struct firewall_status *status = &engine->setup.status->firewall;
    vec_clear(&engine->keys);
    engine->all = round->error < 0;
    if (!is_on(engine))
        *engine->dropper = '\0';
    status->mode = firewall_mode_names[config_of(engine)->services.firewall.mode];
    status->there = is_on(engine) && engine->known;
    status->openings = status->there ? (uint32_t)engine->there.openings.count : 0;
    status->closed = status->there ? (uint32_t)engine->there.closed.count : 0;
    tell(engine);
}

static int64_t next_ms(const struct engine *any, int64_t now_ms)
{
    (void)now_ms;
    return ((const struct firewall_engine *)any)->retry_ms;
}

static void count(struct engine *any)
{
    struct firewall_engine *engine = of(any);
    struct firewall_status *status = &engine->setup.status->firewall;
    struct firewall_counts counts = { 0 };
    if (engine->firewall)
        (void)firewall_count(engine->firewall, &counts);
    status->opened_packets = counts.opened;
    status->closed_packets = counts.closed;
}

const struct engine_ops firewall_engine_ops = {
    .name = "firewall",
    .open = open_engine,
    .close = close_engine,
    .configure = configure,
    .note = note,
    .hear = hear,
    .plan = plan,
    .write = write_table,
    .publish = publish,
    .next_ms = next_ms,
    .count = count,
};
