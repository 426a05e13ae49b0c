/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that follow from BIRD's state. */
#pragma once

#include <stdbool.h>

#include "base/fault.h"
#include "base/sorted.h"
#include "status/bird_status.h"

/* BIRD can't be queried. */
void bgp_silence_faults(const struct bird_status *bird, struct faults *faults);

/* BIRD answers on an existing connection, but its socket was deleted, so it accepts no other. */
void bgp_socket_faults(const struct bird_status *bird, struct faults *faults);

/* Returns true if BIRD is too old for any other check. */
bool bgp_version_faults(const struct bird_status *bird, struct faults *faults);

/* There are sessions, but none exports the routes of a family (`export none`). */
void bgp_export_faults(const struct bird_status *bird, uint32_t table, struct faults *faults);

/* Routes of ours that are in the kernel (`installed`) and that are not sent to a peer. */
void bgp_filter_faults(const struct bird_status *bird, const struct sorted *installed,
                       uint32_t table, struct faults *faults);

/* Routes that are not sent to a peer for another reason: `hidden` by a better route of BIRD's,
 * or the channel's export limit is reached. Also routes that are sent with a wrong next hop. */
void bgp_kept_faults(const struct bird_status *bird, bool hidden, uint32_t table,
                     struct faults *faults);

/* Families of which BIRD has had more or fewer routes than the kernel for a long time. */
void bgp_learned_faults(const struct bird_status *bird, const bool differs[BGP_FAMILIES],
                        uint32_t table, struct faults *faults);

/* BIRD lost notifications from the kernel. */
void bgp_overflow_faults(struct faults *faults);
