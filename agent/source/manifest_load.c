// SPDX-License-Identifier: Apache-2.0
/*
 * Reads a folder of manifests once, as `agentctl plan` does: no watch, no loop, no status. It uses
 * the same code from file to store as the daemon, so both read a folder alike.
 */
#include <errno.h>
#include <string.h>

#include "base/remedy.h"
#include "faults/documents.h"
#include "faults/raise.h"
#include "source/file_keys.h"
#include "source/folder.h"
#include "source/manifest.h"
#include "source/manifest_file.h"

enum {
    READ_ATTEMPTS = 10, /* for a file that keeps changing */
};

static int read_once(const char *directory, const char *name, uint64_t max_bytes,
                     struct manifest_file **ret_file)
{
    CLEANUP(manifest_file_freep) struct manifest_file *file = NULL;
    int r = manifest_file_open(directory, name, max_bytes, &file);
    if (r < 0)
        return r;
    r = manifest_file_read(file, INT64_MAX);
    if (r < 0)
        return r;
    *ret_file = TAKE_PTR(file);
    return r;
}

/*
 * Reads a complete file. Returns 1; -ESTALE: it kept changing; otherwise as manifest_file_open().
 */
static int read_whole(const char *directory, const char *name, uint64_t max_bytes,
                      struct manifest_file **ret_file)
{
    int r = -ESTALE;
    for (int attempt = 0; attempt < READ_ATTEMPTS && r == -ESTALE; attempt++)
        r = read_once(directory, name, max_bytes, ret_file);
    return r;
}

int manifest_load(const char *directory, uint64_t max_file_bytes, struct store *store,
                  struct faults *faults)
{
    AUTONAMES name_list names = { 0 };
    int r = folder_names(directory, &names);
    if (r < 0) {
        fault_raise(faults, directory, document_read_failed, .reason = strerror(-r),
                    .remedy = remedy_for_file(r));
        return r;
    }
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i];
        if (!folder_is_manifest(name))
            continue;
        CLEANUP(manifest_file_freep) struct manifest_file *file = NULL;
        r = read_whole(directory, name, max_file_bytes, &file);
        if (r == -ENOENT)
            continue;
        if (r < 0) {
            fault_raise(faults, name, document_read_failed, .reason = strerror(-r),
                        .remedy = remedy_for_file(r));
            return r;
        }
        manifest_file_faults(file, faults);
        CLEANUP(file_keys_done) struct file_keys keys = { 0 };
        r = file_keys_replace(&keys, store, name, &file->objects);
        if (r < 0)
            return r;
    }
    return 0;
}
