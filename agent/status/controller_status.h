/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the controller: the leader, and each job. Written by controller/; read by api. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status/fault_book.h"
#include "status/status.h"
#include "status/write_status.h"

enum { ELECTION_WORDS_MAX = 256 };

struct election_status {
    const char *namespace, *name; /* of the Lease */
    const char *identity;         /* of this controller process, as in the Lease */
    bool leading;
    bool seen;                       /* the Lease was read, or does not exist */
    char holder[ELECTION_WORDS_MAX]; /* as last read; "": none */
    int64_t acquired_wall_ms;        /* by the holder's clock; 0: not set */
    int64_t renewed_wall_ms;         /* likewise */
    int64_t transitions;             /* changes of the holder (leaseTransitions) */
    uint64_t gained, lost;           /* by this controller since its start */
    int64_t aged_mono_ms; /* when the first read found a holder that had not renewed for long: etcd
                             may have been restored from a backup; 0: no such holder */
    char error[ELECTION_WORDS_MAX]; /* why the last attempt failed; "" */
};

/* A counter of a job, by name: "pools", "requests". */
struct job_count {
    const char *name; /* static: part of the API */
    uint64_t value;
};

enum { JOB_COUNTS_MAX = 8 };

struct job_status {
    const char *name; /* static */
    struct job_count counts[JOB_COUNTS_MAX];
    size_t count;
    struct write_status writes;
};

enum { JOBS_MAX = 8 };

struct controller_status {
    const char *version;
    const char *config_path;
    int64_t started_wall_ms, started_mono_ms;
    bool stopping;
    struct source_status source;
    struct election_status election;
    struct job_status jobs[JOBS_MAX];
    size_t job_count;
    struct fault_book *faults;
};
