/* SPDX-License-Identifier: Apache-2.0 */
/* What BIRD does with our routes: the client of BIRD, status->bird, and the faults of subsystem
 * "bgp". */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "client/bird/bird.h"
#include "config/config.h"
#include "status/status.h"

struct bgp;

/* All borrowed. */
struct bgp_options {
    sd_event *event;
    struct status *status;
    const struct sorted *installed; /* the kernel's routes */
    const struct sorted *links;     /* struct link */
    const struct sorted *addresses; /* struct link_address */
    const struct bird_timing *timing;
    /* Something in status->bird has changed. */
    void (*changed)(void *context);
    void *context;
};

int bgp_new(const struct bgp_options *options, struct bgp **ret_bgp);
void bgp_free(struct bgp *bgp);
DEFINE_CLEANUP(struct bgp *, bgp_free);

/* Queries the BIRD that the configuration names from now on, or none. Returns 0 or -errno. */
int bgp_configure(struct bgp *bgp, const struct config *config);

/* Called after a pass. If the pass changed routes, BIRD is polled soon. */
void bgp_passed(struct bgp *bgp);
