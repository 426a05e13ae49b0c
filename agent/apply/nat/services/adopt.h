/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's memory of the maps, built from the maps when the datapath is opened. */
#pragma once

#include "apply/nat/datapath.h"

/* Fills datapath->installed, by_id and ids from the maps. Returns 0 or -errno. */
int nat_adopt(struct nat_datapath *datapath);
/* Frees what nat_adopt() and later writes have allocated; the maps are unchanged. */
void nat_forget(struct nat_datapath *datapath);
