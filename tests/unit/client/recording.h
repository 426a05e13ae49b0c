/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded replies of BIRD, see bird_replies/. */
#pragma once

#include <stddef.h>

#include "client/bird/bird_reply.h"

extern const char *const recording_names[];
extern const size_t recording_count;

/* The bytes of bird_replies/NAME.txt; the caller frees them. */
char *recording_read(const char *name, size_t *ret_size);

/* Feeds a recording, which must be one whole reply, into an empty reply. */
void recording_feed(const char *name, struct bird_reply *reply);
