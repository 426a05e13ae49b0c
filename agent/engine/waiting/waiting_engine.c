// SPDX-License-Identifier: Apache-2.0
/*
 * The waiting engine; see waiting_engine.h. Its unit is the Service.
 *
 * What waits is as old as this agent knows it to be: a start gives an assigner that starts as well
 * the same moment. Services that are another balancer's or another proxy's, and those of a node
 * that announces no addresses of load balancers, wait for nobody here. What a Service lacks beside
 * an address depends on its slices and on Nodes: a slice has its Service judged anew, a Node that
 * comes or goes all of them.
 */
#include "engine/waiting/waiting_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/text.h"
#include "faults/raise.h"
#include "faults/waiting.h"
#include "model/node.h"
#include "model/services/endpoint_slice.h"
#include "model/services/service.h"
#include "plan/nat/service_lacks.h"
#include "plan/pools/waiting.h"

/* One thing that a Service waits for, or lacks. */
struct lack {
    struct fault fault;
    int64_t due_ms; /* monotonic: when it is told */
    bool address;   /* it waits for an address */
};

struct waiter {
    char *place; /* "Service default/web" */
    VEC(struct lack) lacks;
    bool seen; /* in a round over all */
};

struct waiting_engine {
    struct engine engine; /* first: it is all that the pass knows of */
    struct engine_setup setup;
    struct sorted waiters; /* struct waiter, by place; it owns what is in them */
    bool changed;
    bool all;       /* every Service has to be judged anew */
    int64_t due_ms; /* monotonic: the next one becomes a fault; INT64_MAX: none */
};

static struct waiting_engine *of(struct engine *engine)
{
    return (struct waiting_engine *)engine;
}

static int waiter_cmp(const void *a, const void *b)
{
    return strcmp(((const struct waiter *)a)->place, ((const struct waiter *)b)->place);
}

static int open_waiting(const struct engine_setup *setup, struct engine **ret_engine)
{
    struct waiting_engine *waiting = calloc(1, sizeof(*waiting));
    if (!waiting)
        return -ENOMEM;
    waiting->engine.ops = &waiting_engine_ops;
    waiting->setup = *setup;
    waiting->waiters = (struct sorted)SORTED(struct waiter, waiter_cmp);
    waiting->due_ms = INT64_MAX;
    *ret_engine = &waiting->engine;
    return 0;
}

static void waiter_done(struct waiter *waiter)
{
    vec_each(struct lack, lack, &waiter->lacks) {
        fault_done(&lack->fault);
    }
    vec_done(&waiter->lacks);
    free(waiter->place);
    *waiter = (struct waiter){ 0 };
}

static void close_waiting(struct engine *engine)
{
    struct waiting_engine *waiting = of(engine);
    sorted_each(struct waiter, waiter, &waiting->waiters) {
        waiter_done(waiter);
    }
    sorted_done(&waiting->waiters);
    free(waiting);
}

static void configure(struct engine *engine, const struct config *config)
{
    of(engine)->setup.config = config;
    of(engine)->all = true;
}

static void drop(struct waiting_engine *waiting, struct waiter *waiter)
{
    struct waiter gone = *waiter;
    sorted_remove(&waiting->waiters, &(struct waiter){ .place = gone.place });
    waiter_done(&gone);
    waiting->changed = true;
}

static const struct lack *find_lack(const struct waiter *waiter, const struct fault *fault)
{
    for (size_t i = 0; waiter && i < waiter->lacks.count; i++) {
        if (fault_is_same(&waiter->lacks.items[i].fault, fault))
            return &waiter->lacks.items[i];
    }
    return NULL;
}

static void tell_waits(const struct service *service, const char *place, struct faults *faults)
{
    if (service->ingress_hostname)
        fault_raise(faults, place, service_has_hostname, .hostname = service->ingress_hostname);
    else
        fault_raise(faults, place, service_waits_for_address);
}

/* What a Service waits for and lacks now: those that were known before keep their time. */
static int list_lacks(const struct waiting_engine *waiting, const struct object *object,
                      const struct waiter *known, int64_t now_ms, struct waiter *ret_waiter)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct config *config = waiting->setup.config;
    const bool waits = plan_service_waits(config, to_service(object));
    if (waits)
        tell_waits(to_service(object), ret_waiter->place, &faults);
    service_lacks(waiting->setup.store, config, to_service(object), &faults);
    vec_each(struct fault, fault, &faults.list) {
        const bool address = waits && fault == faults.list.items;
        const struct lack *before = find_lack(known, fault);
        const int64_t grace_ms = address         ? WAITING_GRACE_MS
                                 : *object->file ? LACKING_FILE_GRACE_MS
                                                 : LACKING_GRACE_MS;
        const struct lack lack = { *fault, before ? before->due_ms : now_ms + grace_ms, address };
        int r = vec_push(&ret_waiter->lacks, lack);
        if (r < 0)
            return r;
        *fault = (struct fault){ 0 };
    }
    return faults.incomplete ? -ENOMEM : 0;
}

static bool same_lacks(const struct waiter *a, const struct waiter *b)
{
    bool same = a->lacks.count == b->lacks.count;
    for (size_t i = 0; same && i < a->lacks.count; i++) {
        const struct fault *fault = &a->lacks.items[i].fault;
        const struct lack *other = find_lack(b, fault);
        same = other && strcmp(other->fault.message, fault->message) == 0;
    }
    return same;
}

/* Enters a Service, or takes it out. */
static int judge(struct waiting_engine *waiting, const struct object *object, bool there,
                 int64_t now_ms)
{
    CLEANUP(waiter_done) struct waiter fresh = { .seen = true };
    fresh.place = text_format("Service %s/%s", object->namespace, object->name);
    if (!fresh.place)
        return -ENOMEM;
    struct waiter *known = sorted_find(&waiting->waiters, &fresh);
    int r = there ? list_lacks(waiting, object, known, now_ms, &fresh) : 0;
    if (r < 0)
        return r;
    if (known && same_lacks(known, &fresh)) {
        known->seen = true;
        return 0;
    }
    if (known)
        drop(waiting, known);
    if (fresh.lacks.count == 0)
        return 0;
    r = sorted_put(&waiting->waiters, &fresh);
    if (r < 0)
        return r;
    fresh = (struct waiter){ 0 };
    waiting->changed = true;
    return 0;
}

static int judge_of_slice(struct waiting_engine *waiting, const struct object *slice,
                          int64_t now_ms)
{
    const struct object *service =
        slice ? store_get(waiting->setup.store, KIND_SERVICE, slice->namespace,
                          to_endpoint_slice(slice)->service)
              : NULL;
    return service ? judge(waiting, service, true, now_ms) : 0;
}

static int note(struct engine *engine, const struct change *change, struct round *round)
{
    struct waiting_engine *waiting = of(engine);
    const struct object *object = change->after ? change->after : change->before;
    int r = 0;
    if (object->kind == KIND_SERVICE)
        return judge(waiting, object, change->after != NULL, round->now_ms);
    if (object->kind == KIND_NODE)
        waiting->all |= !change->before || !change->after ||
                        strcmp(to_node(change->before)->zone, to_node(change->after)->zone) != 0;
    if (object->kind == KIND_ENDPOINT_SLICE && change->before)
        r = judge_of_slice(waiting, change->before, round->now_ms);
    if (object->kind == KIND_ENDPOINT_SLICE && r == 0)
        r = judge_of_slice(waiting, change->after, round->now_ms);
    return r;
}

static int judge_all(struct waiting_engine *waiting, int64_t now_ms)
{
    AUTOVEC object_list services = { 0 };
    int r = store_list(waiting->setup.store, KIND_SERVICE, &services);
    if (r < 0)
        return r;
    sorted_each(struct waiter, waiter, &waiting->waiters) {
        waiter->seen = false;
    }
    vec_each(const struct object *, object, &services) {
        r = judge(waiting, *object, true, now_ms);
        if (r < 0)
            return r;
    }
    for (size_t i = waiting->waiters.count; i-- > 0;) {
        struct waiter *waiter = sorted_at(&waiting->waiters, i);
        if (!waiter->seen)
            drop(waiting, waiter);
    }
    return 0;
}

static int plan(struct engine *engine, struct round *round)
{
    struct waiting_engine *waiting = of(engine);
    if (!round->all && !waiting->all)
        return 0;
    int r = judge_all(waiting, round->now_ms);
    waiting->all &= r < 0;
    return r;
}

/* What is said of a Node may follow from many Services. */
static bool is_told(const struct faults *faults, const struct fault *fault)
{
    vec_each(const struct fault, told, &faults->list) {
        if (fault_is_same(told, fault))
            return true;
    }
    return false;
}

/* Adds what is due, and returns when the next one is. */
static int64_t tell(const struct waiting_engine *waiting, int64_t now_ms, struct faults *faults)
{
    size_t waits = 0, lacks = 0;
    int64_t due_ms = INT64_MAX;
    sorted_each(const struct waiter, waiter, &waiting->waiters) {
        vec_each(const struct lack, lack, &waiter->lacks) {
            size_t *told = lack->address ? &waits : &lacks;
            if (lack->due_ms > now_ms)
                due_ms = MIN(due_ms, lack->due_ms);
            else if (!is_told(faults, &lack->fault) && (*told)++ < WAITING_TOLD_MAX)
                faults_add_copy(faults, lack->fault.place, &lack->fault);
        }
    }
    if (waits > WAITING_TOLD_MAX)
        fault_raise(faults, "Services", services_waiting,
                    .count = (int64_t)(waits - WAITING_TOLD_MAX));
    if (lacks > WAITING_TOLD_MAX)
        fault_raise(faults, "Services", services_lacking,
                    .count = (int64_t)(lacks - WAITING_TOLD_MAX));
    return due_ms;
}

static void publish(struct engine *engine, struct round *round)
{
    struct waiting_engine *waiting = of(engine);
    AUTOFAULTS struct faults faults = { 0 };
    if (!waiting->changed && round->now_ms < waiting->due_ms)
        return;
    waiting->changed = false;
    waiting->due_ms = tell(waiting, round->now_ms, &faults);
    (void)fault_book_replace(waiting->setup.status->faults, "services", "waiting", &faults,
                             clock_wall_ms());
}

static int64_t next_ms(const struct engine *engine, int64_t now_ms)
{
    (void)now_ms;
    return ((const struct waiting_engine *)engine)->due_ms;
}

const struct engine_ops waiting_engine_ops = {
    .name = "waiting",
    .open = open_waiting,
    .close = close_waiting,
    .configure = configure,
    .note = note,
    .plan = plan,
    .publish = publish,
    .next_ms = next_ms,
};
