/* SPDX-License-Identifier: Apache-2.0 */
/* Whether somebody is at the other end of an interface. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * False if the interface is up and has no carrier: the kernel routes to it all the same, and what
 * it sends is lost. Of a pod's that means that its own end is down. What can't be asked has one.
 */
bool nat_has_carrier(uint32_t ifindex);
