/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key of Consul's KV held as a lock by a session, as Consul's own clients do it: whoever looks at
 * the key sees who leads, and, since the session ends with its holder, whether anybody does.
 *
 * The lock makes writes safe: a transaction checks that the session still holds it
 * (consul_txn_check_session()). The session is renewed at half its time; one that is lost is
 * replaced. Where the key says that an earlier run under the same name holds it, that run's session
 * is ended at once: two of one name never run together.
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
    /* It is held, or not any more, or the reason why not has changed. May not free the lock. */
    void (*changed)(void *context);
    void *context;
};

/* A lock that nobody strives for yet. Returns 0 or -errno. */
int consul_lock_new(const struct consul_lock_options *options, struct consul_lock **ret_lock);

/* Begins to strive for it, from now on; or gives it up, and its session back: then the key is free
 * as soon as Consul has answered. */
void consul_lock_strive(struct consul_lock *lock, bool strive);

/* Whether the session is being given back; `changed` is called when it is not any more. */
bool consul_lock_is_ending(const struct consul_lock *lock);

/* The session that holds the lock; NULL: it is not held. Borrowed until the loop runs again. */
const char *consul_lock_session(const struct consul_lock *lock);

/* Why it is not held, and what to do; "" while it is, or nothing was answered yet. */
const char *consul_lock_error(const struct consul_lock *lock, const char **ret_remedy);

/* Requests for the key itself since the start: acquisitions, and looks at who holds it. */
struct consul_lock_count {
    uint64_t success, fail, ms; /* `ms` in all */
};
struct consul_lock_counts {
    struct consul_lock_count puts, gets;
};
const struct consul_lock_counts *consul_lock_counts(const struct consul_lock *lock);

/* A transaction says that the session holds the lock no more. */
void consul_lock_invalidate(struct consul_lock *lock);

/* A session that was not given back lives on for its time. */
void consul_lock_free(struct consul_lock *lock);
DEFINE_CLEANUP(struct consul_lock *, consul_lock_free);
