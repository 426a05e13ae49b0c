/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about this host for detectors (detect/facts.h), as the kernel reports them now. */
#pragma once

#include "detect/facts.h"

/* Reads the kinds (enum fact_kind); other facts are left unchanged. A fact that can't be read is
 * unknown. */
void host_facts_read(unsigned kinds, struct detector_facts *facts);
