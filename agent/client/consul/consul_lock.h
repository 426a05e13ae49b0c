/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key of Consul's KV, held as a lock by a session, as Consul's own clients do it. The key names
 * the leader; since the session ends with its holder, the key also shows whether there is a leader.
 *
 * The lock makes writes safe: a transaction checks that the session still holds it
 * (consul_txn_check_session()). The session is renewed at half its TTL; a lost session is replaced.
 * Where the key names an earlier run with the same identity as holder, that run's session is
 * destroyed at once: two processes with one identity never run together.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/consul/consul.h"

struct consul_lock;

struct consul_lock_options {
    sd_event *event;
    struct consul_client *client;
    const char *key;      /* borrowed, as is the identity */
    const char *identity; /* the key's value */
    int64_t ttl_ms;       /* of the session: 10 s to a day */
    int64_t priority;     /* of its timer */
    /*
     * The lock was acquired or lost, or the reason why it is not held has changed. Must not free
     * the lock.
     */
    void (*changed)(void *context);
    void *context;
};

/* A lock that is not being acquired yet. Returns 0 or -errno. */
int consul_lock_new(const struct consul_lock_options *options, struct consul_lock **ret_lock);

/*
 * Begins to acquire the lock, or releases it and destroys the session: then the key is free as soon
 * as Consul has answered.
 */
void consul_lock_strive(struct consul_lock *lock, bool strive);

/* Whether the session is being destroyed; `changed` is called when that is over. */
bool consul_lock_is_ending(const struct consul_lock *lock);

/* The session that holds the lock; NULL: it is not held. Borrowed until the loop runs again. */
const char *consul_lock_session(const struct consul_lock *lock);

/* Why it is not held, and what to do; "" while it is held, or before the first answer. */
const char *consul_lock_error(const struct consul_lock *lock, const char **ret_remedy);

/* Requests for the key itself since the start: acquisitions, and reads of its holder. */
struct consul_lock_count {
    uint64_t success, fail, ms; /* `ms`: total duration */
};
struct consul_lock_counts {
    struct consul_lock_count puts, gets;
};
const struct consul_lock_counts *consul_lock_counts(const struct consul_lock *lock);

/* A transaction reported that the session does not hold the lock any more. */
void consul_lock_invalidate(struct consul_lock *lock);

/* A session that was not destroyed lives on until its TTL ends. */
void consul_lock_free(struct consul_lock *lock);
DEFINE_CLEANUP(struct consul_lock *, consul_lock_free);
