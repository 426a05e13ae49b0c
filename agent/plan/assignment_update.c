// SPDX-License-Identifier: Apache-2.0
/*
 * Brings assignments up to date; see assignment.h for the rules.
 *
 * An update gathers turns, one for each Service that it is about. Everything is decided on a copy
 * of the uses and in the turns, and taken over at the end by steps that can't fail, so that lack of
 * memory costs nobody an address. Called by `agentctl plan` and by whoever gives addresses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "plan/assignment_table.h"

enum { RESTS_MAX = 65536 };

/* One Service that the update is about. */
struct turn {
    struct assignment *row;        /* NULL: freed */
    const struct service *service; /* NULL: it is gone, or no address is given to it */
    ip_list ips;
    struct lack lacks[2];
    lack_list lost;
    bool judged; /* what it holds was; a turn that is only for what is lacking keeps all of it */
};

typedef VEC(struct turn) turn_list;

struct work {
    struct update update;
    turn_list turns;
    struct sorted rests;
};

static void turns_done(turn_list *turns)
{
    vec_each(struct turn, turn, turns) {
        if (turn->row)
            turn->row->in_turn = false;
        for (size_t i = 0; i < ARRAY_SIZE(turn->lacks); i++)
            free(turn->lacks[i].of);
        lacks_done(&turn->lost);
        vec_done(&turn->ips);
    }
    vec_done(turns);
}

static void work_done(struct work *work)
{
    turns_done(&work->turns);
    sorted_done(&work->update.uses);
    rests_done(&work->rests);
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

static int add_key(struct work *work, const char *namespace, const char *name)
{
    struct assignments *assignments = work->update.assignments;
    const struct service *service = find_service(&work->update, namespace, name);
    struct assignment *row = assignment_row(assignments, namespace, name);
    if (!service && !row)
        return 0;
    if (!row && assignment_row_make(assignments, namespace, name, &row) < 0)
        return -ENOMEM;
    row->shares = service && service->wish.sharing_key;
    return add_turn(work, row, service, true);
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

/* Who shares an address with one of the turns, now or until now. */
static int add_sharers(struct work *work)
{
    const struct sorted *uses = &work->update.assignments->uses;
    for (size_t i = 0; i < work->turns.count; i++) {
        const ip_list *ips = &work->turns.items[i].row->ips;
        for (size_t j = 0; j < ips->count; j++) {
            for (size_t at = use_from(uses, &ips->items[j]); at < uses->count; at++) {
                const struct use *use = sorted_at(uses, at);
                if (!ip_equal(&use->ip, &ips->items[j]))
                    break;
                if (add_key(work, use->row->namespace, use->row->name) < 0)
                    return -ENOMEM;
            }
        }
    }
    return 0;
}

/* Older first; who is gone first of all. */
static int turn_cmp(const void *a, const void *b)
{
    const struct turn *left = a, *right = b;
    if (!left->service || !right->service)
        return CMP(left->service != NULL, right->service != NULL);
    return object_precedence_cmp(&left->service->object, &right->service->object);
}

static int gather(struct work *work, const struct assignment_scope *scope, bool all)
{
    int r = all ? add_all(work) : 0;
    for (size_t i = 0; i < scope->count && r == 0; i++)
        r = add_key(work, scope->keys[i].namespace, scope->keys[i].name);
    if (r == 0 && !all)
        r = add_sharers(work);
    vec_sort(&work->turns, turn_cmp);
    return r;
}

/* Copies the uses of those who are in no turn. */
static int copy_uses(struct work *work)
{
    const struct sorted *from = &work->update.assignments->uses;
    struct sorted *to = &work->update.uses;
    *to = (struct sorted){ .size = from->size, .compare = from->compare };
    if (from->count == 0)
        return 0;
    to->items = reallocarray(NULL, from->count, from->size);
    if (!to->items)
        return -ENOMEM;
    to->capacity = from->count;
    sorted_each(const struct use, use, from) {
        if (!use->row->in_turn)
            memcpy(sorted_at(to, to->count++), use, sizeof(*use));
    }
    return 0;
}

static int take(struct work *work, struct turn *turn, const struct ip *ip)
{
    const struct use use = { *ip, turn->row };
    if (vec_push(&turn->ips, *ip) < 0)
        return -ENOMEM;
    return sorted_put(&work->update.uses, &use);
}

static bool has_family(const ip_list *ips, enum ip_family family)
{
    vec_each(const struct ip, ip, ips) {
        if (ip->family == family)
            return true;
    }
    return false;
}

static bool has_ip(const struct ip *ips, size_t count, const struct ip *ip)
{
    for (size_t i = 0; i < count; i++) {
        if (ip_equal(&ips[i], ip))
            return true;
    }
    return false;
}

/* Whether what it holds is no longer what it asks for. */
static bool is_unwished(const struct turn *turn, const struct ip *ip)
{
    const struct address_wish *wish = &turn->service->wish;
    if (wish->unreadable)
        return false;
    if (assignment_names(turn->service, ip->family))
        return !has_ip(wish->addresses, wish->address_count, ip);
    return has_family(&turn->ips, ip->family);
}

static int fill_lack(struct lack *lack, enum lack_reason reason, const struct ip *ip,
                     const struct object *of)
{
    *lack = (struct lack){ .reason = reason, .ip = ip ? *ip : (struct ip){ 0 } };
    if (of)
        lack->of = text_format("%s %s%s%s", kind_name(of->kind), of->namespace,
                               *of->namespace ? "/" : "", of->name);
    return of && !lack->of ? -ENOMEM : 0;
}

/* What a Service holds and may still have, it keeps. */
static int keep(struct work *work, struct turn *turn)
{
    vec_each(const struct ip, ip, &turn->row->ips) {
        const struct object *of = NULL;
        enum lack_reason reason = LACK_NOT_WISHED;
        if (turn->service)
            reason = assignment_judge(&work->update, turn->row, turn->service, ip, true, &of);
        if (reason == LACK_NOTHING && is_unwished(turn, ip))
            reason = LACK_NOT_WISHED;
        if (reason == LACK_NOTHING) {
            if (take(work, turn, ip) < 0)
                return -ENOMEM;
            continue;
        }
        struct lack lost;
        if (fill_lack(&lost, reason, ip, of) < 0 || vec_push(&turn->lost, lost) < 0) {
            free(lost.of);
            return -ENOMEM;
        }
    }
    return 0;
}

/* Those who lack something: they may get what is free now, or lack it for another reason. */
static int add_pending(struct work *work)
{
    sorted_each(struct assignment *const, row, &work->update.assignments->rows) {
        if ((*row)->in_turn || !assignment_is_pending(*row))
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

static int lack_of(struct turn *turn, enum ip_family family, enum lack_reason reason,
                   const struct ip *ip, const struct object *of)
{
    struct lack *lack = &turn->lacks[family_index(family)];
    return lack->reason ? 0 : fill_lack(lack, reason, ip, of);
}

/* Those that it asks for by name. */
static int pick_named(struct work *work, struct turn *turn, ip_list *picks)
{
    const struct address_wish *wish = &turn->service->wish;
    int r = 0;
    for (uint32_t i = 0; i < wish->address_count && r == 0; i++) {
        const struct ip *ip = &wish->addresses[i];
        const struct object *of;
        if (has_ip(turn->ips.items, turn->ips.count, ip))
            continue;
        enum lack_reason reason =
            assignment_judge(&work->update, turn->row, turn->service, ip, false, &of);
        r = reason ? lack_of(turn, ip->family, reason, ip, of) : vec_push(picks, *ip);
    }
    return r;
}

/* One of each family of which it names none. */
static int pick_others(struct work *work, struct turn *turn, ip_list *picks)
{
    static const enum ip_family families[] = { IP_V4, IP_V6 };
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        const struct service *service = turn->service;
        enum lack_reason reason = LACK_UNREADABLE;
        struct ip ip;
        if (!assignment_wants(service, families[i]) || assignment_names(service, families[i]) ||
            has_family(&turn->ips, families[i]))
            continue;
        int r = service->wish.unreadable ? 0
                                         : assignment_choose(&work->update, turn->row, service,
                                                             families[i], &ip, &reason);
        if (r == 0)
            r = reason ? lack_of(turn, families[i], reason, NULL, NULL) : vec_push(picks, ip);
        if (r < 0)
            return r;
    }
    return 0;
}

/* RequireDualStack is both families or none; what is held stays. */
static int drop_halves(struct turn *turn, ip_list *picks)
{
    if (turn->service->wish.policy != FAMILY_REQUIRE_DUAL ||
        !(turn->lacks[0].reason || turn->lacks[1].reason))
        return 0;
    vec_each(const struct ip, ip, picks) {
        if (lack_of(turn, ip->family, LACK_PARTNER, NULL, NULL) < 0)
            return -ENOMEM;
    }
    vec_clear(picks);
    return 0;
}

/*
 * Named addresses come before all others, so that nobody is given what a younger Service names in
 * the same update. Who requires both families is served at once for both.
 */
static int fill(struct work *work, struct turn *turn, bool named)
{
    AUTOVEC ip_list picks = { 0 };
    bool at_once =
        turn->service->wish.policy == FAMILY_REQUIRE_DUAL &&
        !(assignment_names(turn->service, IP_V4) && assignment_names(turn->service, IP_V6));
    int r = 0;
    if (named != at_once)
        r = pick_named(work, turn, &picks);
    if (!named && r == 0)
        r = pick_others(work, turn, &picks);
    if (r == 0)
        r = drop_halves(turn, &picks);
    vec_each(const struct ip, ip, &picks) {
        if (r == 0)
            r = take(work, turn, ip);
    }
    return r;
}

static int fill_all(struct work *work)
{
    for (int named = 1; named >= 0; named--) {
        vec_each(struct turn, turn, &work->turns) {
            int r = turn->service ? fill(work, turn, named) : 0;
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static bool is_used(const struct work *work, const struct ip *ip)
{
    const struct sorted *uses = &work->update.uses;
    size_t at = use_from(uses, ip);
    return at < uses->count && ip_equal(&((const struct use *)sorted_at(uses, at))->ip, ip);
}

/* The addresses that rest from now on: those of before that nobody took, and those given up. */
static int make_rests(struct work *work)
{
    const struct assignment_inputs *inputs = work->update.inputs;
    const struct sorted *before = &work->update.assignments->rests;
    work->rests = (struct sorted){ .size = before->size, .compare = before->compare };
    sorted_each(const struct rest, rest, before) {
        int64_t freed_ms = MIN(rest->freed_ms, inputs->now_ms); /* the clock may have jumped */
        if (inputs->now_ms - freed_ms >= inputs->rest_ms || is_used(work, &rest->ip))
            continue;
        if (rest_put(&work->rests, &rest->ip, freed_ms, rest->namespace, rest->name) < 0)
            return -ENOMEM;
    }
    vec_each(const struct turn, turn, &work->turns) {
        vec_each(const struct ip, ip, &turn->row->ips) {
            if (inputs->rest_ms <= 0 || work->rests.count >= RESTS_MAX || is_used(work, ip) ||
                sorted_find(&work->rests, &(struct rest){ .ip = *ip }))
                continue;
            if (rest_put(&work->rests, ip, inputs->now_ms, turn->row->namespace, turn->row->name) <
                0)
                return -ENOMEM;
        }
    }
    return 0;
}

static int ip_order(const void *a, const void *b)
{
    return ip_cmp(a, b);
}

/* Nothing here fails. */
static void commit_turn(struct turn *turn)
{
    struct assignment *row = turn->row;
    vec_sort(&turn->ips, ip_order);
    vec_move(&row->ips, &turn->ips);
    for (size_t i = 0; i < ARRAY_SIZE(row->lacks); i++) {
        const struct lack old = row->lacks[i];
        row->lacks[i] = turn->lacks[i];
        turn->lacks[i] = old;
    }
    if (turn->judged) {
        const lack_list old = row->lost;
        row->lost = turn->lost;
        turn->lost = old;
    }
}

/* The rows of those to whom no address is given any more; they stand first. */
static void forget_the_gone(struct work *work)
{
    vec_each(struct turn, turn, &work->turns) {
        if (turn->service)
            break;
        sorted_remove(&work->update.assignments->rows, &turn->row);
        assignment_free(turn->row);
        turn->row = NULL;
    }
}

static void commit(struct work *work, assigned_fn each, void *context)
{
    struct assignments *assignments = work->update.assignments;
    sorted_move(&assignments->uses, &work->update.uses);
    struct sorted rests = assignments->rests;
    assignments->rests = work->rests;
    work->rests = rests;
    vec_each(struct turn, turn, &work->turns)
        commit_turn(turn);
    vec_each(struct turn, turn, &work->turns) {
        if (turn->service && each)
            each(context, turn->row, turn->service);
    }
    forget_the_gone(work);
}

static int decide(struct work *work)
{
    int r = copy_uses(work);
    vec_each(struct turn, turn, &work->turns) {
        if (r == 0)
            r = keep(work, turn);
    }
    if (r == 0)
        r = add_pending(work);
    if (r == 0)
        r = fill_all(work);
    return r < 0 ? r : make_rests(work);
}

int assignments_update(struct assignments *assignments, const struct assignment_inputs *inputs,
                       const struct assignment_scope *scope, assigned_fn each, void *context)
{
    CLEANUP(work_done)
    struct work work = {
        .update = { .assignments = assignments, .inputs = inputs, .pools = inputs->pools }
    };
    bool all = scope->all || assignments->stale;
    assignments->stale = true;
    int r = gather(&work, scope, all);
    if (r == 0)
        r = decide(&work);
    if (r < 0)
        return r;
    commit(&work, each, context);
    assignments->stale = false;
    return 0;
}
