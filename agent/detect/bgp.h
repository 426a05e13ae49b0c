/* SPDX-License-Identifier: Apache-2.0 */
/* What bgp/bgp.c needs beside the detectors of sessions. */
#pragma once

#include "detect/detector.h"

/*
 * Whether a session is no fault only because it was just started: BIRD is to be polled again soon.
 */
bool bgp_sessions_may_come_up(const struct detector_facts *facts);
