/* SPDX-License-Identifier: Apache-2.0 */
/* Answers "awaited" and "streamed". */
#pragma once

#include <stdint.h>

extern uint64_t changes_awaited; /* the generation that was asked for last */
