/* SPDX-License-Identifier: Apache-2.0 */
/* Builds one document from libyaml's events. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <yaml.h>

#include "base/fault.h"
#include "base/vec.h"
#include "format/doc.h"
#include "format/place.h"
#include "format/reader.h"

struct yaml_key {
    const char *name;
    struct place place;
};

/* An open map or list. */
struct yaml_frame {
    struct doc *node, *last;
    const char *key; /* whose value comes next; NULL: a key comes next */
    struct place key_place;
    size_t first_key; /* of this map, in yaml_build.keys */
};

struct yaml_build {
    const char *file; /* borrowed */
    struct reader_limits limits;
    struct document *document;
    VEC(struct yaml_frame) open;
    VEC(struct yaml_key) keys; /* of all open maps */
    uint64_t bytes, nodes;
};

static inline struct place yaml_place(yaml_mark_t mark)
{
    return (struct place){ (uint32_t)mark.line + 1, (uint32_t)mark.column + 1 };
}

/* Forgets what was built, for the next document. */
void yaml_build_reset(struct yaml_build *build);
void yaml_build_done(struct yaml_build *build);

/*
 * Takes a scalar, an alias, or the beginning or end of a map or list. Returns 1 when the document
 * is complete, 0 if more must come, -EBADMSG after adding a fault, or -ENOMEM.
 */
int yaml_build_event(struct yaml_build *build, const yaml_event_t *event, struct faults *faults);

/* True if the value of the top map's member `items` comes next. */
bool yaml_build_at_items(const struct yaml_build *build);

/* Puts an empty list in place of the one that begins with `event`. Returns like the above. */
int yaml_build_cut(struct yaml_build *build, const yaml_event_t *event, struct faults *faults);
