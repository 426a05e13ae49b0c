// SPDX-License-Identifier: Apache-2.0
/*
 * CAs of a folder; see consul_ca.h.
 *
 * OpenSSL requires hashed file names in such a folder; Consul's own clients read every file,
 * whatever its name, and so does this code.
 */
#include "client/consul/consul_ca.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/files/file.h"

enum { CA_BYTES = 1024 * 1024 }; /* of all files */

static int read_one(const char *path, struct text *out)
{
    struct stat status;
    AUTOFREE char *content = NULL;
    size_t size;
    if (stat(path, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return 0;
    int r = file_read(path, CA_BYTES, &content, &size);
    if (r < 0)
        return r;
    if (out->length + size + 1 > CA_BYTES)
        return -EFBIG;
    text_add_bytes(out, content, size);
    text_add_char(out, '\n');
    return text_error(out);
}

static int is_named(const struct dirent *entry)
{
    return *entry->d_name != '.';
}

static int read_entry(const char *folder, const char *name, struct text *out)
{
    AUTOFREE char *path = text_format("%s/%s", folder, name);
    return path ? read_one(path, out) : -ENOMEM;
}

int consul_ca_read(const char *folder, struct text *out)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_named, alphasort);
    if (count < 0)
        return -errno;
    int r = 0;
    for (int i = 0; i < count; i++) {
        r = r < 0 ? r : read_entry(folder, entries[i]->d_name, out);
        free(entries[i]);
    }
    free(entries);
    return r == 0 && out->length == 0 ? -ENOENT : r;
}
