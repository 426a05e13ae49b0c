/* SPDX-License-Identifier: Apache-2.0 */
/* From a changed object to the units of egress that must be planned again. */
#pragma once

#include "plan/egress/egress.h"

/* Names are borrowed from objects before and after: valid until store_changes_done(). Each list may
 * hold duplicates, and what is gone or has not come yet. */
struct egress_touched {
    ip_list addresses;        /* rows of pods and clients, and the policies that these have */
    egress_ref_list egresses; /* their sets */
    egress_ref_list named;    /* what plan_egress_named() tells */
    bool excluded;
    bool served; /* and, if other Egresses are served then, every client */
};

/* Adds what a change touches. Of the facts store and config are read. Returns 0 or -ENOMEM. */
int plan_egress_affected(const struct node_facts *facts, const struct change *change,
                         struct egress_touched *touched);

/* Nothing is touched any more; the memory stays. */
void egress_touched_clear(struct egress_touched *touched);
void egress_touched_done(struct egress_touched *touched);
