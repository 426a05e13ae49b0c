/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs: dispatch, --help, completion and the man page are held to it. */
#pragma once

#include <stddef.h>

#include "agentctl/ctl.h"

struct column;

/* Options beyond the common ones, as bits. */
enum verb_option {
    OPTION_COMMON = 0,
    OPTION_WAIT = 1 << 0,
    OPTION_VERBOSE = 1 << 1,
    OPTION_FOLDER = 1 << 2,
    OPTION_CONFIG = 1 << 3,
    OPTION_NODE = 1 << 4,
    OPTION_NO_WAIT = 1 << 5,
    OPTION_WATCH = 1 << 6,
    OPTION_BRIEF = 1 << 7,
    OPTION_IN = 1 << 11,
    OPTION_SERVICE = 1 << 12,
    OPTION_LIMIT = 1 << 13,
    OPTION_PORTS = 1 << 14,
    OPTION_WRITE = 1 << 15,
    OPTION_REASON = 1 << 16,
    OPTION_FOR = 1 << 17,
    OPTION_ASN = 1 << 18,
    OPTION_CONTROLLER = 1 << 19,
    OPTION_CODE = 1 << 20,
    OPTION_RUNNING = 1 << 21,
    /* Not for the table: they follow from the verb's columns. */
    OPTION_COLUMNS = 1 << 8,
    OPTION_WIDE = 1 << 9,
    OPTION_NAMES = 1 << 10,
};

/* What a word on the command line may be, for completion. */
enum completes {
    COMPLETES_NOTHING,
    COMPLETES_FILE,
    COMPLETES_FOLDER,
    COMPLETES_ADDRESS, /* of a service, or a block: asked from the agent */
    COMPLETES_SERVICE, /* namespace/name, likewise */
    COMPLETES_VERB,
    COMPLETES_COLUMNS, /* of the verb's table */
    COMPLETES_WORD,    /* one of the option's own */
    COMPLETES_CODE,    /* of a fault */
};

struct verb {
    const char *group; /* heading in --help */
    const char *name;  /* one or two words */
    const char *args;
    const char *help;
    int min_args, max_args;
    unsigned options; /* enum verb_option */
    int (*run)(const struct ctl *ctl, char **args);
    const struct column *columns; /* of a verb that prints a table */
    enum completes completes;     /* its argument */
    bool moves; /* what it shows is another without a change that the agent tells of: counters */
    const struct server *server; /* whom it asks; NULL: the agent */
};

extern const struct verb verbs[];
extern const size_t verb_count;

/* All options of the verb beyond the common ones. */
unsigned verb_options(const struct verb *verb);

/* The verb that the words begin with, and how many of them are its name; or NULL. */
const struct verb *verb_find(char **words, int *ret_used);

/* Says that no verb begins with the word, or what has to follow it. Returns EXIT_USAGE. */
int verb_unknown(const char *word);
