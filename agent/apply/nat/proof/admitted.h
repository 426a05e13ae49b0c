/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the proof of a Service with source ranges: sources of each kind that the ranges let in. Where
 * no range has one, nobody of that kind may come, and there is no more to prove.
 */
#pragma once

#include "apply/nat/proof/prove.h"

/* True if a range of the Service has the source, and if there are none. */
bool is_admitted(const struct nat_family *family, const struct ip *source);

/* Finds a source of that kind in a range. False: none has one. */
bool find_admitted(const struct probe_origins *origins, const struct nat_family *family,
                   enum nat_origin origin, struct ip *ret_ip);
