/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writes to the Kubernetes API: those under way, those that wait, and why. Part of struct
 * status.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WRITE_ROWS_MAX = 16, WRITE_WORDS_MAX = 256 };

/* A write that is under way, or waits to be tried again. */
struct write_row {
    char what[WRITE_WORDS_MAX]; /* "create /api/v1/..." */
    const char *outcome; /* of the last attempt: "refused"; static; NULL: the first is under way */
    char why[WRITE_WORDS_MAX]; /* in words; "" likewise */
    bool running;
    uint32_t tries;        /* ended attempts */
    int64_t since_wall_ms; /* of the first attempt */
    int64_t next_mono_ms;  /* of the next attempt; 0: under way */
};

struct write_status {
    bool enabled; /* some kind of write is enabled */
    uint64_t written, retries, conflicts, refused;
    uint64_t lost;    /* attempts whose result is unknown */
    uint64_t found;   /* of these, those that later proved to have succeeded */
    uint64_t dropped; /* writes that were abandoned */
    uint32_t waiting, running;
    uint32_t count; /* rows used; not all writes have one */
    struct write_row rows[WRITE_ROWS_MAX];
};
