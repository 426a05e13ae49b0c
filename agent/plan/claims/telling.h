/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Announces an address to each known neighbour by unicast ARP or NA. Broadcast announcements do not
 * reach all hosts: a switch may limit broadcasts, and a host may ignore gratuitous ARP. Neighbours
 * in this node's table may still cache the previous holder's MAC address.
 *
 * Many addresses may be added at once, and a segment may have thousands of hosts. So each address
 * is announced to at most TELLING_MOST neighbours, frames are sent in small batches with pauses,
 * and addresses take turns.
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

/* The announcement of one address at `mac`, its receivers, and the next one of them. */
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
 * Starts the announcement of an address to these neighbours, in place of an unfinished one;
 * neighbours of the other family, and all above TELLING_MOST, are skipped. Returns 0 or -ENOMEM.
 */
int telling_begin(struct telling *telling, uint32_t ifindex, const struct ip *ip,
                  const uint8_t mac[static 6], const telling_hosts *hosts);

/* The address was removed: ends its announcement. */
void telling_end(struct telling *telling, uint32_t ifindex, const struct ip *ip);

/* The next frame that is due now, once; to be called until it returns false: nothing for now. */
struct telling_word {
    uint32_t ifindex;
    struct ip ip;
    uint8_t mac[6];
    struct telling_host host;
};
bool telling_next(struct telling *telling, int64_t now_ms, struct telling_word *ret_word);

/* When the next batch is due; INT64_MAX: nothing is left. */
int64_t telling_next_ms(const struct telling *telling);

void telling_done(struct telling *telling);
