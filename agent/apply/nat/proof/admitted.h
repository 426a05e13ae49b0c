/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the proof of a Service with source ranges: sources of each kind that the ranges admit. If no
 * range contains a source of a kind, no client of that kind is admitted, and nothing else is to be
 * proved.
 */
#pragma once

#include "apply/nat/proof/prove.h"

/* True if a range of the Service contains the source, or if there are no ranges. */
bool is_admitted(const struct nat_family *family, const struct ip *source);

/* Finds a source of that kind in a range. False: no range contains one. */
bool find_admitted(const struct probe_origins *origins, const struct nat_family *family,
                   enum nat_origin origin, struct ip *ret_ip);
