/* SPDX-License-Identifier: Apache-2.0 */
/* Equality of what objects are made of. Private to model/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/ip.h"
#include "model/object.h"
#include "model/service.h"

bool text_equal(const char *a, const char *b); /* either may be NULL */
bool ips_equal(const struct ip *a, size_t a_count, const struct ip *b, size_t b_count);

/* The kinds' own parts, listed in the table of object.c. */
bool service_equal(const struct object *a, const struct object *b);
bool service_balance_equal(const struct service *a, const struct service *b);
bool endpoint_slice_equal(const struct object *a, const struct object *b);
bool node_equal(const struct object *a, const struct object *b);
bool namespace_equal(const struct object *a, const struct object *b);
bool pod_equal(const struct object *a, const struct object *b);
bool address_pool_equal(const struct object *a, const struct object *b);
bool address_block_equal(const struct object *a, const struct object *b);
bool egress_equal(const struct object *a, const struct object *b);
