/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the documents of a YAML or JSON file one by one, in bounded memory.
 *
 * A file may hold one object, several (YAML's `---`, or JSON values one after the other), or
 * lists: of a top-level map that has a list `items`, each element is handed out as a document of
 * its own and freed before the next is read, so that a List of 100,000 objects is never in memory
 * whole. (kubectl prints `items` before `kind`, so the cut is made on `items` alone.)
 * What is left of such a map is checked to be well-formed and not handed out.
 *
 * Refused, with file, line and column: broken syntax, invalid UTF-8, NUL bytes, duplicate keys,
 * YAML tags, nesting deeper than the limit, a value or a file above its cap. YAML aliases and merge
 * keys are read as kubectl reads them, and what they stand for counts towards the limits.
 * An empty file has no documents.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "format/doc.h"

enum reader_format { READER_YAML, READER_JSON };

struct reader_limits {
    uint64_t file_bytes;     /* the whole file; 256 MiB by default */
    uint64_t document_bytes; /* one document (JSON: its text; YAML: the sum of its scalars); at
                              * most 1 GiB */
    uint32_t depth;          /* nesting of maps and lists; at most 1000 */
};

extern const struct reader_limits reader_limits_default; /* 256 MiB, 16 MiB, 64 */

/* How many maps, lists and scalars one document may have: its memory goes by them. */
static inline uint64_t reader_max_nodes(const struct reader_limits *limits)
{
    return limits->document_bytes / 16 + 1024;
}

struct reader;

/*
 * Reads from `fd` (owned by the reader from now on, even on failure) under the name `file`, which
 * must outlive the reader and its documents. Returns 0 or -ENOMEM.
 */
int reader_open(int fd, const char *file, enum reader_format format,
                const struct reader_limits *limits, struct reader **ret_reader);

/*
 * The next document. Returns 1 and the document, which the caller frees; 0 at the end of the file;
 * -EBADMSG after adding a fault with its place (the file ends there); -EIO and the like from
 * read(), with a fault too; -ENOMEM.
 */
int reader_next(struct reader *reader, struct document **ret_document, struct faults *faults);

void reader_free(struct reader *reader);
DEFINE_CLEANUP(struct reader *, reader_free);

/* The one document in a string (agent replies, tests). Returns as reader_next(); 0: it was empty.
 */
int document_parse(const char *bytes, size_t size, const char *file, enum reader_format format,
                   struct document **ret_document, struct faults *faults);

/* The whole file as one document, `items` included (configuration). Returns as reader_next(). */
int document_read(const char *path, enum reader_format format, struct document **ret_document,
                  struct faults *faults);

/* The same of a file that this program has written, in JSON: it may be as long as any file. */
int document_read_record(const char *path, struct document **ret_document, struct faults *faults);
