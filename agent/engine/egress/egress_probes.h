/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What probes say of gateways: pure, without a socket or a clock. egress_prober.h asks and hears;
 * this is what it remembers of each gateway, and what it concludes.
 *
 * Only a gateway that has answered once can fail: those of Coil never answer. One that misses
 * PROBES_DOUBTED questions in a row is doubted and gets no new flows; at PROBES_LOST it is lost,
 * and its flows begin anew elsewhere. It is trusted again after PROBES_BACK answers in a row.
 * Internal to engine/egress/.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/sorted.h"
#include "status/egress_status.h"

enum { PROBES_DOUBTED = 3, PROBES_LOST = 6, PROBES_BACK = 3 };

enum probe_verdict {
    PROBE_UNKNOWN, /* it has never answered */
    PROBE_ALIVE,
    PROBE_LEAVING, /* it says that new flows are to go elsewhere, */
    PROBE_GONE,    /* or that all are, */
    PROBE_STALE,   /* or that it learns of no new clients */
    PROBE_DOUBTED, /* it has not answered for some questions, */
    PROBE_LOST,    /* for so many that it is taken for dead */
};

struct probed_gateway {
    struct ip address;
    enum probe_verdict verdict;
    uint64_t secret;  /* what makes up cookies, beside the number of the question */
    uint16_t asked;   /* number of the newest question */
    uint32_t missed;  /* questions since the last answer */
    uint32_t answers; /* in a row, since it was doubted */
    int64_t known_ms; /* monotonic: up to when it has learned of clients; INT64_MAX: it does */
    bool wanted;      /* for probes_follow() */
};

struct probes {
    struct sorted gateways; /* struct probed_gateway, by address */
};

void probes_init(struct probes *probes);
void probes_done(struct probes *probes);

/* Begins to take over another list of gateways: those that are not added until probes_end_list()
 * are forgotten. */
void probes_begin_list(struct probes *probes);
/*
 * A gateway of the list; one may be added more than once. `verdict`, `secret`: of one that is not
 * known yet. Returns 0 or -ENOMEM.
 */
int probes_add(struct probes *probes, const struct ip *address, enum probe_verdict verdict,
               uint64_t secret);
void probes_end_list(struct probes *probes);

/* A question is about to be sent: returns its cookie. What was missed until now is judged first;
 * `moved` is set if the verdict is another one. */
uint64_t probes_ask(struct probed_gateway *gateway, bool *moved);

/* An answer from `address`, which says `phase`. Returns true if the gateway's verdict is another
 * one. Answers to nothing, or to questions of long ago, change nothing. */
bool probes_hear(struct probes *probes, const struct ip *address, uint64_t cookie,
                 enum egress_phase phase, int64_t now_ms);

/* Up to when all gateways have learned of new clients; INT64_MAX: all do. */
int64_t probes_known_ms(const struct probes *probes);

enum probe_verdict probes_verdict(const struct probes *probes, const struct ip *address);
