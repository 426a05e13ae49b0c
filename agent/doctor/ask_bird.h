/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to BIRD, one at a time and waiting for the answer. Internal to doctor/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "client/bird/bird_reply.h"

struct bird_asker;

/* Connects and takes the greeting. Returns 0, what connect() says, -ETIMEDOUT, or -EPROTO. */
int bird_asker_open(const char *socket, int64_t timeout_ms, struct bird_asker **ret_asker);
void bird_asker_close(struct bird_asker *asker);
DEFINE_CLEANUP(struct bird_asker *, bird_asker_close);

/* BIRD's process, as this process's namespace numbers it; 0: not known. */
pid_t bird_asker_pid(const struct bird_asker *asker);

/* Asks one thing, without a newline. The reply is borrowed until the next question. */
int bird_ask(struct bird_asker *asker, const char *question, const struct bird_reply **ret_reply);

/* True if BIRD's configuration has the name. */
bool bird_has_symbol(struct bird_asker *asker, const char *name);
