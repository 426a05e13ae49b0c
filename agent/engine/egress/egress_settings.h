/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel settings without which the programs find no route for packets of clients. */
#pragma once

#include "engine/egress/egress_engine.h"

struct egress_engine;

/* Reads the settings of the interfaces that have programs, and reports those that are wrong. */
void egress_settings_tell(struct egress_engine *egress);
