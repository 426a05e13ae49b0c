/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kind of fault is: a row of the catalogue.
 *
 * The code is the fault's name for ever: metrics, the journal, alerts and tests go by it. Two
 * faults are the same if code, place and key arguments are; all other arguments may change while
 * it holds. The words are templates:
 *
 *   {name}            the argument
 *   {name:one|many}   `one` if the number is 1, else `many`
 *   [words {name}]    left out if an argument in it is empty or 0
 *   {{ [[             the character itself
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_severity {
    FAULT_NOTICE,   /* nothing is lost; somebody should know */
    FAULT_DEGRADED, /* part of the work is not done, or is about to fail */
    FAULT_FAILED,   /* a subsystem does not do its work */
    FAULT_SEVERITIES
};

enum fault_argument_kind {
    FAULT_TEXT_ARGUMENT,   /* const char *; NULL counts as empty */
    FAULT_NUMBER_ARGUMENT, /* int64_t */
};

struct fault_argument {
    const char *name; /* NULL ends a list */
    enum fault_argument_kind kind;
    bool is_key; /* part of the fault's identity */
};

struct fault_type {
    const char *code;       /* "bgp-routes-filtered" */
    const char *message_id; /* in the journal, when it is raised: 32 hexadecimal digits */
    enum fault_severity severity;
    const char *subject;                    /* what its place names: "a session of BIRD" */
    const struct fault_argument *arguments; /* in the order of their slots, 8 bytes each */
    const char *message;                    /* no trailing full stop */
    const char *remedy;  /* NULL: the message says what a line of a file should be */
    const char *meaning; /* sentences: what it means, and what holds meanwhile */
    /* Codes, by ", ": where one of them holds, this one follows from it (status/fault_book.h says
     * at which place), and is folded below it. They follow from nothing themselves. NULL: none */
    const char *follows;
    const char *since; /* the first version that has it */
};

/* "notice", "degraded", "failed". */
const char *fault_severity_name(enum fault_severity severity);
