/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way from a document to an object: what the kinds' decoders share. Private to model/.
 *
 * A decoder remembers what went wrong, so that the functions here return plain values and every
 * error of an object is found in one go. What they return after an error only has to be harmless.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/fault.h"
#include "base/macro.h"
#include "base/net/ip.h"
#include "base/sorted.h"
#include "faults/kinds.h"
#include "faults/objects.h"
#include "format/doc.h"
#include "model/object.h"
#include "model/services/service.h"

/*
 * Faults of one object that are listed, because naming a place in JSON costs a walk through its
 * text. After so many errors the functions here find nothing more to say, and cost nothing.
 */
enum { DECODE_FAULTS_MAX = 20 };

enum {
    NAME_MAX_LENGTH = 253,     /* a DNS subdomain */
    NAMESPACE_MAX_LENGTH = 63, /* a DNS label */
};

struct decoder {
    const struct document *document;
    struct faults *errors, *warnings;
    uint32_t error_count, warning_count;
    struct arena *arena;
    const struct object *object; /* what is decoded, as far as it is */
    const struct doc *map;       /* what the field that is decoded is in (field.h); NULL: nothing */
    size_t array_bytes, string_bytes; /* taken so far, as the arena rounds them */
    char *strings;                    /* where the next string goes; NULL: they stay borrowed */
    bool silent;                      /* warnings are known already */
    bool no_memory;
    uint32_t part; /* of a document that becomes several objects (endpoints.c) */
};

/* Raises a fault of the catalogue at `node`, as doc_raise() does, which refuses the object. */
#define decode_error(decoder, node, id, ...)           \
    decode_error_type(decoder, node, &fault_type_##id, \
                      &(struct fault_##id){ .path = NULL, __VA_ARGS__ })

/* The same, and leaves the object usable without what stands there. */
#define decode_warning(decoder, node, id, ...)           \
    decode_warning_type(decoder, node, &fault_type_##id, \
                        &(struct fault_##id){ .path = NULL, __VA_ARGS__ })

void decode_error_type(struct decoder *decoder, const struct doc *node,
                       const struct fault_type *type, void *arguments);
void decode_warning_type(struct decoder *decoder, const struct doc *node,
                         const struct fault_type *type, void *arguments);

/* Whether somebody wrote the document into a file, and no API has looked at it. */
bool decode_is_manifest(const struct decoder *decoder);

/* What an allocation of this size takes from an arena. */
size_t decode_rounded(size_t size);

/* Zeroed memory of the object; NULL if count is 0 or without memory (the decoder knows). */
void *decode_alloc(struct decoder *decoder, size_t count, size_t size);

/* The string as one of the object; NULL stays NULL. */
const char *decode_keep(struct decoder *decoder, const char *text);

/* The first `length` characters of a text, as a string of the object; "" without memory. */
const char *decode_keep_part(struct decoder *decoder, const char *text, size_t length);

/* Whether these characters are a name of Kubernetes: parts of at most 253 characters in all, with
 * dots between them; or one of at most 63, without. */
bool decode_is_name(const char *name, size_t length);
bool decode_is_namespace(const char *name, size_t length);

/*
 * One field each. NULL or the fallback where it is absent, null or wrong; for maps and lists, which
 * are looked up by doc_get(), null can only be an element of a list and is wrong.
 */
const char *decode_text(struct decoder *decoder, const struct doc *node); /* borrowed */
bool decode_bool(struct decoder *decoder, const struct doc *node, bool fallback);
int64_t decode_int(struct decoder *decoder, const struct doc *node, int64_t min, int64_t max,
                   int64_t fallback);
const struct doc *decode_map(struct decoder *decoder, const struct doc *node);
const struct doc *decode_list(struct decoder *decoder, const struct doc *node);

/* The kept string of a field; "" where decode_text() has none. */
const char *decode_string(struct decoder *decoder, const struct doc *node);

/* The index of a field's word in a list that NULL ends; the first where it is absent or "". */
int decode_word(struct decoder *decoder, const struct doc *node, const char *const *words);
enum protocol decode_protocol(struct decoder *decoder, const struct doc *node);

/* A member that must be there: an error names it if it is absent or null. */
const struct doc *decode_need(struct decoder *decoder, const struct doc *map, const char *key);

/* A member even if its value is null: of labels, presence counts. NULL: there is none. */
const struct doc *decode_member(const struct doc *map, const char *key);

/* A label's value, borrowed ("" for null), or NULL; an annotation's node, or NULL. */
const char *decode_label(const struct decoder *decoder, const char *key);
const struct doc *decode_annotation(const struct decoder *decoder, const char *key);
/* A number that an annotation is, or -1: there is none, or it is no such number, which is a warning
 * that says how it is taken ("no class"). */
int decode_annotated_number(struct decoder *decoder, const struct doc *node, int min, int max,
                            const char *taken_as);

/* An address; true if it is a good one. One that can't be used is a warning. */
bool decode_ip(struct decoder *decoder, const struct doc *node, struct ip *ret_ip);

/*
 * A prefix of a family (IP_NONE: either); true if it is a good one. Bits beyond its length are
 * cleared with a warning, all else is an error.
 */
bool decode_prefix(struct decoder *decoder, const struct doc *node, enum ip_family family,
                   struct prefix *ret_prefix);

/*
 * A CIDR of a list that goes on without it, of either family, blanks around it left out; true if it
 * is a good one. One that can't be used is skipped with a warning.
 */
bool decode_cidr(struct decoder *decoder, const struct doc *node, struct prefix *ret_prefix);

/* Sets ret_marks[i] where item i equals an earlier one, in n log n. Returns 0 or -ENOMEM. */
int mark_duplicates(const void *items, size_t count, size_t size, compare_fn compare,
                    bool *ret_marks);
