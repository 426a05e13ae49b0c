/* SPDX-License-Identifier: Apache-2.0 */
/* The unit of systemd that runs BIRD. Internal to doctor/. */
#pragma once

#include <sys/types.h>

enum { BIRD_UNIT_LEN = 128 };

/*
 * Whether a restart of the unit ends BIRD's sessions, so that its peers withdraw its routes: it has
 * no ExecStop that asks for a graceful restart. Returns 1 or 0, or -ENOENT if the process is of no
 * unit that starts a BIRD.
 */
int bird_unit_withdraws(pid_t pid, char ret_unit[static BIRD_UNIT_LEN]);

/* What mends that: of Debian's unit what an administrator types, else what he has to see to. */
const char *bird_unit_remedy(const char *unit);
