/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one manifest file into typed objects, all or nothing, in slices. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/vec.h"
#include "format/reader.h"
#include "model/object.h"

/* Identifies a version of a file. All zero if the file can't be read. */
struct file_id {
    dev_t device;
    ino_t inode;
    int64_t size;
    int64_t modified_ns, changed_ns;
    bool fresh; /* changed so recently that a further write may leave the times unchanged */
};

/* The file at a path; symbolic links are followed. */
struct file_id file_id_at(const char *path);
bool file_id_equal(const struct file_id *a, const struct file_id *b);

typedef VEC(struct object *) manifest_objects;

struct manifest_file {
    char *path;
    const char *name; /* the last part of the path: its name in faults */
    struct file_id id;
    struct reader *reader;    /* NULL when everything is read */
    bool broken;              /* then there are no objects */
    manifest_objects objects; /* when everything is read: in order of key */
    uint64_t ignored_objects;
    struct faults errors, warnings; /* both of bounded length */
    uint64_t more_warnings;
};

/*
 * Opens a file for reading. A problem (not a file, too long, unreadable) makes it broken and is
 * added to its errors. Returns 0, -ENOENT, or a temporary error: -ENOMEM, -EMFILE, -ENFILE.
 */
int manifest_file_open(const char *directory, const char *name, uint64_t max_bytes,
                       struct manifest_file **ret_file);

/*
 * Continues until everything is read or the clock (clock_mono_us) passes `until_us`. Returns 1 if
 * the file is complete, good or broken; 0 if there is more; -ESTALE if the file was changed while
 * it was read; -ENOMEM.
 */
int manifest_file_read(struct manifest_file *file, int64_t until_us);

/* Moves errors and warnings to the end of a list. */
void manifest_file_faults(struct manifest_file *file, struct faults *faults);

void manifest_file_free(struct manifest_file *file);
DEFINE_CLEANUP(struct manifest_file *, manifest_file_free);
