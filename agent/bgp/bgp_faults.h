/* SPDX-License-Identifier: Apache-2.0 */
/* What in BIRD's state an operator should act upon. */
#pragma once

#include <stdbool.h>

#include "base/fault.h"
#include "base/sorted.h"
#include "status/bird_status.h"

/* BIRD can't be asked. */
void bgp_silence_faults(const struct bird_status *bird, struct faults *faults);

/* BIRD answers, on a connection that it has: its socket was deleted, and takes no other. */
void bgp_socket_faults(const struct bird_status *bird, struct faults *faults);

/* True if it is a BIRD of which nothing else can be judged: it is too old. */
bool bgp_version_faults(const struct bird_status *bird, struct faults *faults);

/* There are sessions, but none that takes the routes of a family (`export none`). */
void bgp_export_faults(const struct bird_status *bird, uint32_t table, struct faults *faults);

/* Routes of ours that are in the kernel (`installed`) and that a peer is not given. */
void bgp_filter_faults(const struct bird_status *bird, const struct sorted *installed,
                       uint32_t table, struct faults *faults);

/* Routes that a peer is not given for another reason: `hidden`, for a better route of BIRD's own;
 * or its channel's export limit is reached. And those that lead the peer elsewhere. */
void bgp_kept_faults(const struct bird_status *bird, bool hidden, uint32_t table,
                     struct faults *faults);

/* The families of which BIRD has for long had more or fewer routes than the kernel. */
void bgp_learned_faults(const struct bird_status *bird, const bool differs[BGP_FAMILIES],
                        uint32_t table, struct faults *faults);

/* BIRD lost notifications of the kernel. */
void bgp_overflow_faults(struct faults *faults);
