/* SPDX-License-Identifier: Apache-2.0 */
/* Equality of what objects are made of. Private to model/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/net/ip.h"
#include "model/object.h"
#include "model/services/service.h"

bool text_equal(const char *a, const char *b); /* either may be NULL */
bool ips_equal(const struct ip *a, size_t a_count, const struct ip *b, size_t b_count);
