/* SPDX-License-Identifier: Apache-2.0 */
/* Ports, slots and endpoints of one Service, in one of its two banks. */
#pragma once

#include "apply/nat/services/change.h"

/* Fills the idle bank. Returns 0; or -ENOSPC or -EDQUOT: the map change->at has no more room. */
int nat_bank_fill(struct nat_change *change);
/* Releases everything that nat_bank_fill() has allocated. */
void nat_bank_undo(struct nat_change *change);
/* After the switch: ends the endpoints that are gone, releases what only the old bank used, and
 * sets change->ports to the installed ones. */
void nat_bank_settle(struct nat_change *change);
/* True if the bank in force has all ports as desired. Reads mapped memory only. */
bool nat_bank_matches(const struct nat_datapath *datapath, const struct nat_installed *installed,
                      const struct nat_desired *desired);
/* Stores, of a Service that matches, which endpoints serve which port. Returns 0 or -ENOMEM. */
int nat_bank_learn(struct nat_installed *installed, const struct nat_desired *desired);
