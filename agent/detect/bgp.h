/* SPDX-License-Identifier: Apache-2.0 */
/* What whoever polls BIRD asks beside the detectors of its sessions. */
#pragma once

#include "detect/detector.h"

/* Whether some session is no fault only because it has just been started: BIRD is worth asking
 * soon.
 */
bool bgp_sessions_may_come_up(const struct detector_facts *facts);
