/* SPDX-License-Identifier: Apache-2.0 */
/* What is being written to the Kubernetes API, what waits and why. Part of struct status. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WRITE_ROWS_MAX = 16, WRITE_WORDS_MAX = 256 };

/* A write that is under way, or waits to be tried again. */
struct write_row {
    char what[WRITE_WORDS_MAX]; /* "create /api/v1/..." */
    const char *outcome; /* of the last try: "refused"; static; NULL: the first is under way */
    char why[WRITE_WORDS_MAX]; /* in words; "" likewise */
    bool running;
    uint32_t tries;        /* that have ended */
    int64_t since_wall_ms; /* of the first */
    int64_t next_mono_ms;  /* of the next one; 0: it is under way */
};

struct write_status {
    bool enabled; /* something may be written */
    uint64_t written, retries, conflicts, refused;
    uint64_t lost;    /* attempts of which nobody knew whether they were done */
    uint64_t found;   /* of these, those that were found to be done */
    uint64_t dropped; /* that were given up */
    uint32_t waiting, running;
    uint32_t count; /* rows: the first of them */
    struct write_row rows[WRITE_ROWS_MAX];
};
