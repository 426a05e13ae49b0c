/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's answers: asking for them, and reading fields out of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agentctl/ctl.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "format/doc.h"

struct answer {
    char *body;                /* as it came */
    struct document *document; /* of the body */
    const struct doc *root;
};

/*
 * Asks without a word. Returns 0; -errno of client/agent.h; -EREMOTEIO if the agent answered with
 * an error, `*ret_status` (may be NULL) being its HTTP status and `ret->body` its text.
 */
int answer_try(const struct ctl *ctl, const char *path, int64_t timeout_ms, long *ret_status,
               struct answer *ret);

/* Asks, and says what is wrong if it fails. Returns an exit status. */
int answer_get(const struct ctl *ctl, const char *path, struct answer *ret);

/* The same for --json, whose document is printed as it came: it is not parsed, `root` is NULL. */
int answer_fetch(const struct ctl *ctl, const char *path, struct answer *ret);
/* Fetches and prints a document. Returns an exit status. */
int answer_print(const struct ctl *ctl, const char *path);
/* The same of one that compares: the exit status tells whether it has "differences". */
int answer_print_compared(const struct ctl *ctl, const char *path);
/*
 * The items of a list to be shown as a table. NULL if there is no table to print: with --json the
 * document was printed, or it failed; `*ret_status` is the exit status then.
 */
const struct doc *answer_items(const struct ctl *ctl, const char *path, struct answer *ret,
                               int *ret_status);
/* A member of a document as it came, without the quotes of a string; "" if there is none. */
const char *answer_word(const struct answer *answer, const char *key, char *buffer, size_t size);

/*
 * Asks for an action ("/v1/drain") with a JSON document or NULL, and says what is wrong if it
 * fails. Returns an exit status.
 */
int answer_post(const struct ctl *ctl, const char *path, const char *document, struct answer *ret);

/* Why there was no answer, in some words; `error` as of answer_try(). */
const char *answer_why(int error);
/* Says how things are without whom nobody can reach, and where to look further. */
void answer_without(const struct ctl *ctl);

/* Says why an answer_try() failed, and returns the exit status for it. */
int answer_failed(const struct ctl *ctl, int error, long status, const struct answer *answer);

/* Parses a document made here; `body` is taken over. Returns an exit status. */
int answer_of(char *body, struct answer *ret);

void answer_done(struct answer *answer);

#define AUTOANSWER CLEANUP(answer_done)
