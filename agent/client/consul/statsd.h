/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics by DogStatsD over UDP, under the names of kube-service-exporter. Nobody waits for it, and
 * what gets lost is lost. Lines are collected, several to a datagram, as DogStatsD's own clients do
 * it: who sends them says when they go.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"

struct statsd;

/* All borrowed, for as long as the statsd lives. */
struct statsd_options {
    const char *address; /* "127.0.0.1:8125", "[::1]:8125", a host's name; NULL: nothing is sent */
    char *const *tags;   /* "dc:x", of every metric */
    size_t tag_count;
};

/* A fault says why nothing can be sent; that is no error. Returns 0 or -ENOMEM. */
int statsd_new(const struct statsd_options *options, struct statsd **ret_statsd,
               struct faults *faults);
/* Sends what was collected. */
void statsd_free(struct statsd *statsd);
DEFINE_CLEANUP(struct statsd *, statsd_free);

enum statsd_type { STATSD_COUNT, STATSD_GAUGE, STATSD_TIME, STATSD_DISTRIBUTION };

struct statsd_tag {
    const char *name, *value; /* of a value what would end a tag is sent as '_' */
};

/* Tags for statsd_add(). One without a value is left out. */
#define STATSD_TAGS(...) ((const struct statsd_tag[]){ __VA_ARGS__, { NULL, NULL } })

/* "kube-service-exporter.NAME:VALUE|c|#dc:x,method:put". A count of 0 is not sent. Times and
 * distributions are in ms. `tags`: NULL, or ended by one without a name. */
void statsd_add(struct statsd *statsd, const char *name, enum statsd_type type, uint64_t value,
                const struct statsd_tag *tags);

/* Sends what was collected. */
void statsd_flush(struct statsd *statsd);
