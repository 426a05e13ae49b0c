/* SPDX-License-Identifier: Apache-2.0 */
/* The engines of this program. They are opened, configured and closed together. */
#pragma once

#include "base/cleanup.h"
#include "base/vec.h"
#include "engine/engine.h"

/*
 * Collects what the kernel's mirror has to hold for the engines of a table; `table` as for
 * engines_open(). Returns 0 or -errno.
 */
int engines_scope(const struct config *config, const struct engine_ops *const *table,
                  struct kernel_scope *ret_scope);

struct engines {
    VEC(struct engine *) list; /* in the order of the table */
};

/*
 * Opens every engine of a table that ends with NULL; if `table` is NULL, of the program's table in
 * engines.c. Returns 0, or -errno after closing all that were opened.
 */
int engines_open(const struct engine_setup *setup, const struct engine_ops *const *table,
                 struct engines **ret_engines);
void engines_close(struct engines *engines);
DEFINE_CLEANUP(struct engines *, engines_close);

/* The engine with these operations, or NULL. */
struct engine *engines_find(const struct engines *engines, const struct engine_ops *ops);

void engines_configure(struct engines *engines, const struct config *config);
void engines_count(struct engines *engines);

/* The earliest next_ms of all; INT64_MAX: none. */
int64_t engines_next_ms(const struct engines *engines, int64_t now_ms);
/* The progress of the engine that is furthest from done. */
enum progress engines_progress(const struct engines *engines);
