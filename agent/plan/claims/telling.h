/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling each neighbour of this node, and him alone, that an address is here now. What is said to
 * all is passed over by some: a switch that limits broadcasts, a host that takes no news from them.
 * Whoever this node has as a neighbour speaks with it, and may know the address at its last holder.
 *
 * Many addresses may come at once, and a segment may have thousands of hosts. So each address is
 * told to TELLING_MOST at most, frames go in small batches with pauses, and addresses take turns.
 *
 * Pure. Times are of CLOCK_BOOTTIME.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/vec.h"

enum {
    TELLING_MOST = 256,
    TELLING_BATCH = 32, /* frames */
    TELLING_PAUSE_MS = 10,
};

struct telling_host {
    struct ip ip;
    uint8_t mac[6];
};

typedef VEC(struct telling_host) telling_hosts;

/* What is to be told of one address, which `mac` has; and to whom: the one who is next. */
struct telling_task {
    uint32_t ifindex;
    struct ip ip;
    uint8_t mac[6];
    telling_hosts hosts;
    size_t told;
};

/* Begins as zeros. */
struct telling {
    VEC(struct telling_task) tasks;
    size_t turn; /* the task that is next */
    unsigned sent;
    int64_t next_ms; /* of the next batch */
};

/*
 * This address is to be told to these, in place of what is left of an earlier time; those of the
 * other family, and all above TELLING_MOST, are passed over. Returns 0 or -ENOMEM.
 */
int telling_begin(struct telling *telling, uint32_t ifindex, const struct ip *ip,
                  const uint8_t mac[static 6], const telling_hosts *hosts);

/* It is here no more: nobody else is told. */
void telling_end(struct telling *telling, uint32_t ifindex, const struct ip *ip);

/* The next frame that is due now, once; to be called until it says false: nothing for now. */
struct telling_word {
    uint32_t ifindex;
    struct ip ip;
    uint8_t mac[6];
    struct telling_host host;
};
bool telling_next(struct telling *telling, int64_t now_ms, struct telling_word *ret_word);

/* When something is due; INT64_MAX: nothing is left. */
int64_t telling_next_ms(const struct telling *telling);

void telling_done(struct telling *telling);
