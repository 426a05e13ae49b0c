/* SPDX-License-Identifier: Apache-2.0 */
/* Which units of egress must be planned again after an object changes. */
#pragma once

#include "plan/egress/egress.h"

/*
 * Names are borrowed from objects before and after: valid until store_changes_done(). Each list may
 * have duplicates, deleted objects and ones not seen yet.
 */
struct egress_touched {
    ip_list addresses;        /* rows of pods and clients, and their policies */
    egress_ref_list egresses; /* their sets */
    egress_ref_list named;    /* for plan_egress_named() */
    bool excluded;
    bool served; /* the served Egresses; if these change, every client */
};

/*
 * Adds the units that a change affects. Of the facts it reads store and config. Returns 0 or
 * -ENOMEM.
 */
int plan_egress_affected(const struct node_facts *facts, const struct change *change,
                         struct egress_touched *touched);

/* Clears the lists; keeps their memory. */
void egress_touched_clear(struct egress_touched *touched);
void egress_touched_done(struct egress_touched *touched);
