/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics by DogStatsD over UDP, under the names of kube-service-exporter. Sending never blocks,
 * and lost datagrams are not repeated. Lines are collected, several to a datagram, as DogStatsD's
 * own clients do it; the caller decides when they are sent.
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

/* If nothing can be sent, a fault has the reason; that is no error. Returns 0 or -ENOMEM. */
int statsd_new(const struct statsd_options *options, struct statsd **ret_statsd,
               struct faults *faults);
/* Sends what was collected. */
void statsd_free(struct statsd *statsd);
DEFINE_CLEANUP(struct statsd *, statsd_free);

enum statsd_type { STATSD_COUNT, STATSD_GAUGE, STATSD_TIME, STATSD_DISTRIBUTION };

struct statsd_tag {
    const char *name, *value; /* characters of a value that would end a tag are sent as '_' */
};

/* Tags for statsd_add(). One without a value is left out. */
#define STATSD_TAGS(...) ((const struct statsd_tag[]){ __VA_ARGS__, { NULL, NULL } })

/*
 * Adds "kube-service-exporter.NAME:VALUE|c|#dc:x,method:put". A count of 0 is not sent. Times and
 * distributions are in ms. `tags`: NULL, or ended by a tag without a name.
 */
void statsd_add(struct statsd *statsd, const char *name, enum statsd_type type, uint64_t value,
                const struct statsd_tag *tags);

/* Sends what was collected. */
void statsd_flush(struct statsd *statsd);
