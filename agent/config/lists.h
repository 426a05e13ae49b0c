/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of values that sections of more than one file have. */
#pragma once

#include "base/net/ip.h"
#include "base/vec.h"

typedef VEC(struct prefix) prefix_list;
typedef VEC(char *) string_list;
