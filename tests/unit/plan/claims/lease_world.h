/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world for leases: a store, and nodes that each have an agent, a kernel and a clock of
 * their own. Requests and answers are lost and late as the test decides, message by message;
 * agents are stopped, killed, cut off and rebooted. The kernel goes on in all of that, and takes an
 * address away when its lifetime is over, a little late, as Linux does.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "plan/claims/lease_state.h"

enum {
    NODES = 3,
    MESSAGES = 96,
    TICK_MS = 20,
    NEVER = INT32_MAX,
};

/* What becomes of one message; milliseconds, NEVER: it is lost. */
struct fate {
    int64_t request_ms, answer_ms;
};

struct world_store {
    bool there;
    struct lease_record record;
    int version;
};

struct message {
    bool used, landed, heard; /* `heard`: of a watch, only `answer` counts */
    int node, life;
    enum lease_step step;
    int number;                  /* of the request, by which its node knows it */
    struct lease_record desired; /* heard: the record */
    char version[16];            /* heard: its version, "" for none */
    int64_t request_at, answer_at;
    int outcome; /* once it landed: 0, -1 conflict, -2 absent */
    struct lease_record found;
    char found_version[16];
};

struct world_node {
    struct lease lease;
    const char *name;
    int life, request; /* numbers */
    int64_t asked_at;  /* of the request that an answer is due to */
    int64_t answer_ms; /* what the last answer took */
    int sent;
    int64_t stopped_until;    /* the agent */
    int64_t cut_until;        /* from the store */
    int64_t watched_since;    /* without a gap */
    int64_t offset_ms, ppm;   /* of its clock */
    bool has;                 /* its kernel has the address */
    int64_t gone_at;          /* when it takes it away */
    int64_t applied_until;    /* what that lifetime was made for */
    int64_t whole_seconds_at; /* what the kernel tells of it: when it will be over */
};

struct world {
    struct lease_rules rules;
    struct world_store store;
    struct world_node nodes[NODES];
    struct message messages[MESSAGES];
    int node_count;
    int64_t now; /* real time */
    struct fate (*fate)(struct world *world, const struct message *message);
    uint64_t seed;
    int sent, taken, moved, last_holder;
};

static int64_t chance(struct world *world, int64_t below)
{
    world->seed = world->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((world->seed >> 33) % (uint64_t)below);
}

static int64_t clock_of(const struct world *world, const struct world_node *node)
{
    return node->offset_ms + world->now + world->now * node->ppm / 1000000;
}

/* Another life of the agent; its kernel has what it has. */
static void begin_life(struct world *world, struct world_node *node)
{
    int64_t left_ms = node->has ? node->whole_seconds_at - world->now : 0;
    int64_t now = clock_of(world, node);
    node->life++;
    node->stopped_until = 0;
    node->watched_since = now;
    lease_begin(&node->lease, &world->rules, node->name, left_ms > 0 ? now + left_ms : 0);
    lease_installed(&node->lease, node->has);
}

static void world_begin(struct world *world, int nodes, uint64_t seed)
{
    static const char *const names[NODES] = { "n0", "n1", "n2" };
    *world = (struct world){
        .rules = lease_rules_default, .node_count = nodes, .seed = seed, .last_holder = -1
    };
    world->rules.duration_ms = 5000;
    for (int i = 0; i < nodes; i++) {
        struct world_node *node = &world->nodes[i];
        node->name = names[i];
        node->offset_ms = 1000 + chance(world, 1000000);
        node->ppm = chance(world, 401) - 200;
        begin_life(world, node);
        lease_rank(&node->lease, i, clock_of(world, node));
    }
}

static struct message *new_message(struct world *world)
{
    for (size_t i = 0; i < MESSAGES; i++) {
        if (!world->messages[i].used) {
            world->messages[i] = (struct message){ .used = true };
            return &world->messages[i];
        }
    }
    fail_msg("too many messages");
    return NULL;
}

/* Tells all watches; what one misses is a gap. */
static void publish(struct world *world)
{
    for (int i = 0; i < world->node_count; i++) {
        struct world_node *node = &world->nodes[i];
        struct message *message = new_message(world);
        message->heard = message->landed = true;
        message->node = i;
        message->life = node->life;
        message->desired = world->store.record;
        if (world->store.there)
            (void)snprintf(message->version, sizeof(message->version), "%d", world->store.version);
        struct fate fate = world->fate(world, message);
        message->used = fate.answer_ms != NEVER && world->now >= node->cut_until;
        message->answer_at = world->now + fate.answer_ms;
        if (!message->used)
            node->watched_since = clock_of(world, node);
    }
}

/* By a person; not while a creation is under way: see plan/claims/lease_state.h. */
static inline void world_delete(struct world *world)
{
    for (size_t i = 0; i < MESSAGES; i++) {
        const struct message *message = &world->messages[i];
        if (message->used && message->step == LEASE_CREATE && !message->landed)
            return;
    }
    world->store.there = false;
    world->store.version++;
    publish(world);
}

static void land_write(struct world *world, struct message *message)
{
    struct world_store *store = &world->store;
    char version[16];
    (void)snprintf(version, sizeof(version), "%d", store->version);
    bool create = message->step == LEASE_CREATE;
    if (create == store->there || (!create && strcmp(version, message->version) != 0)) {
        message->outcome = -1;
        return;
    }
    world->taken += strcmp(store->record.holder, message->desired.holder) != 0;
    store->there = true;
    store->record = message->desired;
    store->version++;
    publish(world);
}

static void land(struct world *world, struct message *message)
{
    message->landed = true;
    if (message->step != LEASE_READ)
        land_write(world, message);
    else if (!world->store.there)
        message->outcome = -2;
    message->found = world->store.record;
    (void)snprintf(message->found_version, sizeof(message->found_version), "%d",
                   world->store.version);
}

/* Since when a node's watch has missed nothing, if it has come as far as this. */
static int64_t watched_since(struct world *world, const struct world_node *node)
{
    for (size_t i = 0; i < MESSAGES; i++) {
        const struct message *message = &world->messages[i];
        if (message->used && message->heard && message->node == node - world->nodes)
            return clock_of(world, node);
    }
    return node->watched_since;
}

static void hear(struct world *world, struct message *message)
{
    struct world_node *node = &world->nodes[message->node];
    bool there = message->version[0] != '\0';
    message->used = false;
    if (message->life == node->life)
        lease_heard(&node->lease, there ? &message->desired : NULL, message->version,
                    clock_of(world, node));
}

static void answer(struct world *world, struct message *message)
{
    struct world_node *node = &world->nodes[message->node];
    int64_t now = clock_of(world, node);
    message->used = false;
    if (message->life != node->life || message->number != node->request)
        return;
    node->request++; /* answered */
    node->answer_ms = world->now - node->asked_at;
    if (message->outcome == -1)
        lease_failed(&node->lease, true, now);
    else if (message->outcome == -2)
        lease_absent(&node->lease, watched_since(world, node), now);
    else if (message->step == LEASE_READ)
        lease_saw(&node->lease, &message->found, message->found_version, now);
    else
        lease_wrote(&node->lease, message->found_version, now);
}

static void move_messages(struct world *world)
{
    for (size_t i = 0; i < MESSAGES; i++) {
        struct message *message = &world->messages[i];
        if (message->used && !message->landed && world->now >= message->request_at)
            land(world, message);
        bool awake = world->now >= world->nodes[message->node].stopped_until;
        if (message->used && message->landed && awake && world->now >= message->answer_at)
            message->heard ? hear(world, message) : answer(world, message);
    }
}

static void send(struct world *world, struct world_node *node, enum lease_step step)
{
    struct message *message = new_message(world);
    message->node = (int)(node - world->nodes);
    message->life = node->life;
    message->number = node->request;
    message->step = step;
    message->desired = node->lease.desired;
    (void)snprintf(message->version, sizeof(message->version), "%.15s", node->lease.version);
    node->asked_at = world->now;
    struct fate fate = world->fate(world, message);
    world->sent++;
    node->sent++;
    message->used = fate.request_ms != NEVER && world->now >= node->cut_until;
    message->request_at = world->now + fate.request_ms;
    message->answer_at = fate.answer_ms == NEVER ? INT64_MAX : message->request_at + fate.answer_ms;
}

/* As the engine does: what the kernel has follows what the lease allows. */
static void apply(struct world *world, struct world_node *node)
{
    uint32_t lifetime_s = lease_lifetime_s(&node->lease, clock_of(world, node));
    int64_t until = lease_until_ms(&node->lease);
    if (lifetime_s == 0) {
        node->has = false;
    } else if (!node->has || node->applied_until != until) {
        node->has = true;
        node->applied_until = until;
        node->whole_seconds_at = world->now + lifetime_s * 1000;
        node->gone_at = node->whole_seconds_at + 40 + chance(world, 521);
    }
    lease_installed(&node->lease, node->has);
}

static void assert_one_holder(struct world *world)
{
    int holders = 0, holder = -1;
    for (int i = 0; i < world->node_count; i++) {
        holders += world->nodes[i].has;
        holder = world->nodes[i].has ? i : holder;
    }
    if (holders > 1)
        fail_msg("at %lld ms %d kernels have the address", (long long)world->now, holders);
    if (holder >= 0 && holder != world->last_holder) {
        world->moved++;
        world->last_holder = holder;
    }
}

static void run_agent(struct world *world, struct world_node *node)
{
    if (world->now < node->stopped_until)
        return;
    if (node->lease.asked != LEASE_WAIT &&
        world->now - node->asked_at >= lease_limit_ms(&node->lease)) {
        node->request++;
        lease_failed(&node->lease, false, clock_of(world, node));
    }
    int64_t due_ms = node->lease.asked == LEASE_WAIT ? 0 : world->now - node->asked_at;
    lease_pace(&node->lease, MAX(node->answer_ms, due_ms));
    apply(world, node);
    assert_one_holder(world);
    enum lease_step step =
        lease_next(&node->lease, clock_of(world, node), 1700000000000 + world->now);
    apply(world, node);
    if (step != LEASE_WAIT)
        send(world, node, step);
}

static void tick(struct world *world)
{
    world->now += TICK_MS;
    for (int i = 0; i < world->node_count; i++) {
        struct world_node *node = &world->nodes[i];
        node->has = node->has && world->now < node->gone_at;
        if (world->now >= node->stopped_until)
            lease_installed(&node->lease, node->has);
    }
    move_messages(world);
    for (int i = 0; i < world->node_count; i++)
        run_agent(world, &world->nodes[i]);
}

static void run_for(struct world *world, int64_t ms)
{
    for (int64_t end = world->now + ms; world->now < end;)
        tick(world);
}
