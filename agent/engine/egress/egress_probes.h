/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conclusions from probes of gateways: pure, without a socket or a clock. egress_prober.h sends
 * requests and receives answers; this file holds the state of each gateway and derives the verdict.
 *
 * Only a gateway that has answered once can fail; gateways of Coil never answer. One that misses
 * PROBES_DOUBTED requests in a row is doubted and gets no new flows; at PROBES_LOST it is lost, and
 * its flows begin again at other gateways. It is trusted again after PROBES_BACK answers in a row.
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
    PROBE_LEAVING, /* it announces that new flows are to use other gateways, */
    PROBE_GONE,    /* or that all flows are, */
    PROBE_STALE,   /* or that it no longer learns of new clients */
    PROBE_DOUBTED, /* it has not answered some requests, */
    PROBE_LOST,    /* or so many that it is considered dead */
};

struct probed_gateway {
    struct ip address;
    enum probe_verdict verdict;
    uint64_t secret;  /* from which cookies are made, with the request's number */
    uint16_t asked;   /* number of the newest request */
    uint32_t missed;  /* requests since the last answer */
    uint32_t answers; /* in a row, since it was doubted */
    int64_t known_ms; /* monotonic: until when it has learned of clients; INT64_MAX: it does */
    bool wanted;      /* for probes_follow() */
};

struct probes {
    struct sorted gateways; /* struct probed_gateway, by address */
};

void probes_init(struct probes *probes);
void probes_done(struct probes *probes);

/* Begins the adoption of a new list of gateways: those that are not added before probes_end_list()
 * are forgotten. */
void probes_begin_list(struct probes *probes);
/*
 * Adds a gateway of the list; a gateway may be added more than once. `verdict`, `secret`: initial
 * values of a gateway that is new. Returns 0 or -ENOMEM.
 */
int probes_add(struct probes *probes, const struct ip *address, enum probe_verdict verdict,
               uint64_t secret);
void probes_end_list(struct probes *probes);

/* To be called before a request is sent: returns its cookie. Requests missed so far are judged
 * first; `moved` is set if the verdict changed. */
uint64_t probes_ask(struct probed_gateway *gateway, bool *moved);

/* Processes an answer from `address` that carries `phase`. Returns true if the gateway's verdict
 * changed. Answers without a request, or to old requests, change nothing. */
bool probes_hear(struct probes *probes, const struct ip *address, uint64_t cookie,
                 enum egress_phase phase, int64_t now_ms);

/* Until when all gateways have learned of new clients; INT64_MAX: all still do. */
int64_t probes_known_ms(const struct probes *probes);

enum probe_verdict probes_verdict(const struct probes *probes, const struct ip *address);
