// SPDX-License-Identifier: Apache-2.0
/* Reads single keys of containerd's configuration; see containerd.h. It is TOML: a line is a key.
 */
#include "base/files/containerd.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files/file.h"

enum { FILE_MAX = 1024 * 1024 };

char *containerd_value(const char *content, const char *key)
{
    for (const char *line = content; line; line = strchr(line, '\n')) {
        line += strspn(line, " \t\n");
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *at = line + strlen(key);
        at += strspn(at, " \t");
        if (*at != '=')
            continue;
        at += 1 + strspn(at + 1, " \t[");
        if (*at == '"' || *at == '\'')
            return strndup(at + 1, strcspn(at + 1, "\"'\n"));
    }
    return NULL;
}

char *containerd_bin_dir(void)
{
    AUTOFREE char *content = NULL;
    size_t size;
    if (file_read(CONTAINERD_CONFIG, FILE_MAX, &content, &size) < 0)
        return NULL;
    char *folder = containerd_value(content, "bin_dir");
    if (!folder || !*folder) {
        free(folder);
        folder = containerd_value(content, "bin_dirs");
    }
    if (folder && *folder)
        return folder;
    free(folder);
    return NULL;
}
