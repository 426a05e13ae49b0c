// SPDX-License-Identifier: Apache-2.0
/*
 * Updates assignments; see assignment.h for the rules.
 *
 * An update collects turns, one for each affected Service, and removes their uses from the table.
 * Decisions are kept in the turns and in the table, and are committed to the rows at the end by
 * steps that can't fail. Without memory no Service loses an address: the rows are unchanged, and
 * the next update rebuilds the table from them. Called by `agentctl plan` and by the allocators
 * (pools/allocator.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "plan/pools/assignment_turn.h"
#include "plan/pools/foreign_status.h"

static void turns_done(turn_list *turns)
{
    vec_each(struct turn, turn, turns) {
        if (turn->row)
            turn->row->in_turn = false;
        for (size_t i = 0; i < ARRAY_SIZE(turn->lacks); i++)
            free(turn->lacks[i].of);
        free(turn->uneven.of);
        lacks_done(&turn->lost);
        vec_done(&turn->ips);
    }
    vec_done(turns);
}

static void work_done(struct work *work)
{
    turns_done(&work->turns);
}

static const struct service *find_service(const struct update *update, const char *namespace,
                                          const char *name)
{
    const struct object *object = store_get(update->inputs->store, KIND_SERVICE, namespace, name);
    const struct service *service = object ? to_service(object) : NULL;
    return service && assignment_is_for(update->inputs->load_balancer_class, service) ? service
                                                                                      : NULL;
}

static int add_turn(struct work *work, struct assignment *row, const struct service *service,
                    bool judged)
{
    if (row->in_turn)
        return 0;
    const struct turn turn = { .row = row, .service = service, .judged = judged };
    if (vec_push(&work->turns, turn) < 0)
        return -ENOMEM;
    row->in_turn = true;
    return 0;
}

static bool is_absent(const struct update *update, const struct assignment *row)
{
    return update->inputs->keep_absent &&
           !store_get(update->inputs->store, KIND_SERVICE, row->namespace, row->name);
}

static int add_key(struct work *work, const char *namespace, const char *name)
{
    struct assignments *assignments = work->update.assignments;
    const struct service *service = find_service(&work->update, namespace, name);
    struct assignment *row = assignment_row(assignments, namespace, name);
    if (!service && !row)
        return 0;
    if (!row && assignment_row_make(assignments, namespace, name, &row) < 0)
        return -ENOMEM;
    if (row->in_turn)
        return 0;
    int r = add_turn(work, row, service, true);
    if (r < 0)
        return r;
    work->turns.items[work->turns.count - 1].absent = is_absent(&work->update, row);
    return 0;
}

static int add_all(struct work *work)
{
    AUTOVEC object_list services = { 0 };
    int r = store_list(work->update.inputs->store, KIND_SERVICE, &services);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &services) {
        if (add_key(work, (*object)->namespace, (*object)->name) < 0)
            return -ENOMEM;
    }
    sorted_each(struct assignment *const, row, &work->update.assignments->rows) {
        if (add_key(work, (*row)->namespace, (*row)->name) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Adds the Services that share an address with one of the turns, now or before. */
static int add_sharers(struct work *work)
{
    const struct assignments *assignments = work->update.assignments;
    const struct use *use;
    for (size_t i = 0; i < work->turns.count; i++) {
        const ip_list *ips = &work->turns.items[i].row->ips;
        for (size_t j = 0; j < ips->count; j++) {
            const struct ip *ip = &ips->items[j];
            size_t at = use_from(assignments, ip);
            for (; (use = use_at(assignments, at, ip)); at++) {
                if (add_key(work, use->row->namespace, use->row->name) < 0)
                    return -ENOMEM;
            }
        }
    }
    return 0;
}

/* Older Services first; deleted ones before all others. */
static int turn_cmp(const void *a, const void *b)
{
    const struct turn *left = a, *right = b;
    if (!left->service || !right->service)
        return CMP(left->service != NULL, right->service != NULL);
    return object_precedence_cmp(&left->service->object, &right->service->object);
}

static int gather(struct work *work, const struct assignment_scope *scope)
{
    int r = work->all ? add_all(work) : 0;
    for (size_t i = 0; i < scope->count && r == 0; i++)
        r = add_key(work, scope->keys[i].namespace, scope->keys[i].name);
    if (r < 0)
        return r;
    if (!work->all)
        r = add_sharers(work);
    vec_sort(&work->turns, turn_cmp);
    return r;
}

/* Frees addresses after their cooldown. */
static void end_rests(struct work *work)
{
    struct rests *rests = &work->update.assignments->rests;
    const struct assignment_inputs *inputs = work->update.inputs;
    const struct rest *rest;
    rests_heed_clock(rests, inputs->now_ms);
    while ((rest = rest_oldest(rests)) && inputs->now_ms - rest->freed_ms >= inputs->rest_ms) {
        const struct ip ip = rest->ip;
        rest_remove(rests, &ip);
        pool_table_free(work->update.pools, &ip);
        work->update.assignments->version++;
    }
}

/* Rebuilds the table from the held addresses: before the first update, and after a failed one. */
static int restore_uses(struct assignments *assignments)
{
    sorted_clear(&assignments->uses);
    sorted_clear(&assignments->shared);
    sorted_each(struct assignment *const, row, &assignments->rows) {
        vec_each(const struct ip, ip, &(*row)->ips) {
            if (use_put(assignments, *row, ip) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

/*
 * Finds Services whose status has an address that another Service holds: they are processed last,
 * so that the holder keeps the address. Among holders the older Service is first.
 */
static void find_contests(struct work *work)
{
    const struct object *of;
    vec_each(struct turn, turn, &work->turns) {
        const struct service *service = turn->service;
        for (uint32_t i = 0; service && i < service->address_count; i++) {
            const struct service_address *address = &service->addresses[i];
            if (address->origin == ADDRESS_LOAD_BALANCER && !address->proxy_mode &&
                !ips_have(turn->row->ips.items, turn->row->ips.count, &address->ip) &&
                assignment_judge_sharing(&work->update, turn->row, service, &address->ip, &of) ==
                    LACK_TAKEN)
                turn->contests = true;
        }
    }
}

/* From now on the uses of a turn are those allocated to it. */
static int clear_uses(struct work *work)
{
    struct assignments *assignments = work->update.assignments;
    if (work->all) {
        sorted_clear(&assignments->uses);
        sorted_clear(&assignments->shared);
        sorted_clear(&assignments->pending);
        sorted_clear(&assignments->uneven);
        pool_table_rewind(work->update.pools);
    }
    vec_each(struct turn, turn, &work->turns) {
        struct assignment *row = turn->row;
        for (size_t i = 0; i < row->ips.count && !work->all; i++)
            use_remove(assignments, row, &row->ips.items[i]);
        free(row->sharing_key);
        row->sharing_key = NULL;
        const char *key = turn->service ? turn->service->request.sharing_key : NULL;
        if (key && !(row->sharing_key = strdup(key)))
            return -ENOMEM;
    }
    return 0;
}

/* Whether a held address is no longer what it requests. */
static bool is_unwished(const struct turn *turn, const struct ip *ip)
{
    const struct address_request *request = &turn->service->request;
    if (request->unreadable)
        return false;
    if (assignment_names(turn->service, ip->family))
        return !ips_have(request->addresses, request->address_count, ip);
    return ips_have_family(&turn->ips, ip->family);
}

static int lose(struct turn *turn, const struct ip *ip, enum lack_reason reason,
                const struct object *of)
{
    struct lack lost;
    if (lack_fill(&lost, reason, ip, of) < 0 || vec_push(&turn->lost, lost) < 0) {
        free(lost.of);
        return -ENOMEM;
    }
    return 0;
}

/* Records a held address that would not be shared now: only the first one is reported. */
static int note_uneven(const struct work *work, struct turn *turn, const struct ip *ip)
{
    const struct object *of;
    if (!turn->service || turn->uneven.reason ||
        assignment_judge_sharing(&work->update, turn->row, turn->service, ip, &of) != LACK_BACKENDS)
        return 0;
    return lack_fill(&turn->uneven, LACK_BACKENDS, ip, of);
}

static int keep_one(struct work *work, struct turn *turn, const struct ip *ip)
{
    const struct object *of = NULL;
    enum lack_reason reason = turn->absent ? LACK_NOTHING : LACK_NOT_WISHED;
    if (turn->service)
        reason = assignment_judge(&work->update, turn->row, turn->service, ip, true, &of);
    if (reason == LACK_NOTHING && turn->service && is_unwished(turn, ip))
        reason = LACK_NOT_WISHED;
    if (reason == LACK_OUTSIDE && turn->service &&
        status_is_foreign(work->update.pools, turn->service))
        return 0; /* it was never allocated to the Service from pools */
    if (reason != LACK_NOTHING)
        return lose(turn, ip, reason, of);
    int r = note_uneven(work, turn, ip);
    return r == 0 ? turn_take(work, turn, ip) : r;
}

/* The addresses of the Service's status, which may be newer than the row, and those of the row. */
static int list_held(const struct turn *turn, ip_list *ret_held)
{
    for (uint32_t i = 0; turn->service && i < turn->service->address_count; i++) {
        const struct service_address *address = &turn->service->addresses[i];
        if (address->origin == ADDRESS_LOAD_BALANCER && !address->proxy_mode &&
            !ips_have(ret_held->items, ret_held->count, &address->ip) &&
            vec_push(ret_held, address->ip) < 0)
            return -ENOMEM;
    }
    vec_each(const struct ip, ip, &turn->row->ips) {
        if (!ips_have(ret_held->items, ret_held->count, ip) && vec_push(ret_held, *ip) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Keeps the held addresses that a Service may still have. */
static int keep(struct work *work, struct turn *turn)
{
    AUTOVEC ip_list held = { 0 };
    int r = list_held(turn, &held);
    if (r < 0)
        return r;
    vec_each(const struct ip, ip, &held) {
        r = keep_one(work, turn, ip);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Starts the cooldown of freed addresses, before any allocation. */
static int begin_rests(struct work *work)
{
    const struct assignment_inputs *inputs = work->update.inputs;
    struct assignments *assignments = work->update.assignments;
    vec_each(const struct turn, turn, &work->turns) {
        const struct assignment *row = turn->row;
        vec_each(const struct ip, ip, &row->ips) {
            if (is_used(assignments, ip))
                continue;
            if (inputs->rest_ms <= 0 || rests_count(&assignments->rests) >= RESTS_MAX)
                pool_table_free(work->update.pools, ip);
            else if (rest_put(&assignments->rests, ip, inputs->now_ms, row->namespace, row->name) <
                     0)
                return -ENOMEM;
        }
    }
    return 0;
}

/*
 * Adds the Services that lack something: they may get a free address now, or have another reason.
 */
static int add_pending(struct work *work)
{
    sorted_each(struct assignment *const, row, &work->update.assignments->pending) {
        if ((*row)->in_turn)
            continue;
        const struct service *service =
            find_service(&work->update, (*row)->namespace, (*row)->name);
        if (!service)
            continue;
        if (add_turn(work, *row, service, false) < 0)
            return -ENOMEM;
        struct turn *turn = &work->turns.items[work->turns.count - 1];
        if (vec_append(&turn->ips, &(*row)->ips) < 0)
            return -ENOMEM;
    }
    vec_sort(&work->turns, turn_cmp);
    return 0;
}

static int list_row(struct sorted *list, struct assignment *row, bool is_in)
{
    if (is_in)
        return sorted_put(list, &row);
    sorted_remove(list, &row);
    return 0;
}

/* Ends the cooldown of allocated addresses; lists the Services that lack something. */
static int file_turns(struct work *work)
{
    struct assignments *assignments = work->update.assignments;
    vec_each(const struct turn, turn, &work->turns) {
        vec_each(const struct ip, ip, &turn->ips)
            rest_remove(&assignments->rests, ip);
        bool lacks = turn->lacks[0].reason || turn->lacks[1].reason;
        if (list_row(&assignments->pending, turn->row, lacks) < 0)
            return -ENOMEM;
        if (turn->judged && list_row(&assignments->uneven, turn->row, turn->uneven.reason) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int ip_order(const void *a, const void *b)
{
    return ip_cmp(a, b);
}

static bool ip_lists_equal(const ip_list *a, const ip_list *b)
{
    bool equal = a->count == b->count;
    for (size_t i = 0; equal && i < a->count; i++)
        equal = ip_equal(&a->items[i], &b->items[i]);
    return equal;
}

/* This can't fail. */
static void commit_turn(struct assignments *assignments, struct turn *turn)
{
    struct assignment *row = turn->row;
    vec_sort(&turn->ips, ip_order);
    assignments->version += !ip_lists_equal(&row->ips, &turn->ips);
    vec_move(&row->ips, &turn->ips);
    for (size_t i = 0; i < ARRAY_SIZE(row->lacks); i++) {
        const struct lack old = row->lacks[i];
        row->lacks[i] = turn->lacks[i];
        turn->lacks[i] = old;
    }
    if (turn->judged) {
        const lack_list old = row->lost;
        const struct lack uneven = row->uneven;
        row->lost = turn->lost;
        turn->lost = old;
        row->uneven = turn->uneven;
        turn->uneven = uneven;
    }
}

/* Removes the rows of Services that no longer get addresses; they are first. */
static void forget_the_gone(struct work *work)
{
    vec_each(struct turn, turn, &work->turns) {
        if (turn->service)
            break;
        if (turn->absent)
            continue;
        sorted_remove(&work->update.assignments->rows, &turn->row);
        assignment_free(turn->row);
        turn->row = NULL;
    }
}

static void commit(struct work *work, assigned_fn each, void *context)
{
    vec_each(struct turn, turn, &work->turns)
        commit_turn(work->update.assignments, turn);
    vec_each(struct turn, turn, &work->turns) {
        if (turn->service && each)
            each(context, turn->row, turn->service);
    }
    forget_the_gone(work);
}

static int keep_all(struct work *work)
{
    for (int last = 0; last <= 1; last++) {
        vec_each(struct turn, turn, &work->turns) {
            int r = turn->contests == last ? keep(work, turn) : 0;
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int decide(struct work *work)
{
    static int (*const steps[])(struct work *) = { clear_uses,  keep_all,   begin_rests,
                                                   add_pending, turns_fill, file_turns };
    end_rests(work);
    find_contests(work);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        int r = steps[i](work);
        if (r < 0)
            return r;
    }
    return 0;
}

int assignments_update(struct assignments *assignments, const struct assignment_inputs *inputs,
                       const struct assignment_scope *scope, assigned_fn each, void *context)
{
    CLEANUP(work_done)
    struct work work = {
        .update = { .assignments = assignments, .inputs = inputs, .pools = inputs->pools },
        .all = scope->all || assignments->stale,
    };
    int r = assignments->stale ? restore_uses(assignments) : 0;
    assignments->stale = true;
    if (r < 0)
        return r;
    r = gather(&work, scope);
    if (r < 0)
        return r;
    r = decide(&work);
    if (r < 0)
        return r;
    commit(&work, each, context);
    assignments->stale = false;
    return 0;
}
