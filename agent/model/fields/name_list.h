/* SPDX-License-Identifier: Apache-2.0 */
/* Names of other objects, in a list. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct name_list {
    const char *const *items;
    size_t count;
};

bool name_list_has(const struct name_list *names, const char *name);
