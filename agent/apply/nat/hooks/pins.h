/* SPDX-License-Identifier: Apache-2.0 */
/* The pins of TCX links, one for each place, in a folder on a bpf file system. */
#pragma once

#include "apply/nat/hooks/place.h"

/* Appends the places that have a pin. A folder that does not exist has none. Returns 0 or -errno.
 */
int nat_pins_list(const char *folder, nat_place_list *places);
/* Returns the descriptor of the pinned link, which the caller closes, or -errno. */
int nat_pin_open(const char *folder, const struct nat_place *place);
/* Pins a link, replacing a pinned link that is detached. Returns 0 or -errno. */
int nat_pin_link(const char *folder, const struct nat_place *place, int link);
/* The time of the last creation or removal of a pin, in nanoseconds of the file system's clock;
 * 0: there is no folder. */
int64_t nat_pins_changed_ns(const char *folder);
void nat_pin_remove(const char *folder, const struct nat_place *place);
