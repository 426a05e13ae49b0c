/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the kernel without which packets of clients find no route in the programs. */
#pragma once

#include "engine/egress/egress_engine.h"

struct egress_engine;

/* Reads them, of the interfaces that have programs, and tells of those that are wrong. */
void egress_settings_tell(struct egress_engine *egress);
