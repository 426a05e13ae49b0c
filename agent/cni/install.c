// SPDX-License-Identifier: Apache-2.0
/*
 * Installs the plugin; see install.h.
 *
 * A runtime reads the first list of its folder, in the order of their names, as soon as that
 * changes, and then runs the programs that it names: so the program is there first, and a list that
 * can't work is not installed. Lists of other plugins stay: to take those away, or to name ours
 * before them, is up to who moves a node from one to the other.
 */
#include "cni/install.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/files/file.h"
#include "cni/version.h"
#include "format/reader.h"

enum { PROGRAM_BYTES = 64 << 20, CONFLIST_BYTES = 1 << 20 };

static const char by_root[] = "run it as root; --bin-dir and --conf-dir name other folders";

static int no_memory(struct cni_error *error)
{
    return cni_fail(error, CNI_INTERNAL, "free memory on the node", "no memory");
}

static int failed(const char *path, int reason, struct cni_error *error)
{
    return cni_fail(error, CNI_IO_FAILURE, by_root, "%s: %s", path, strerror(-reason));
}

static bool names_plugin(const struct document *document, struct faults *faults)
{
    doc_each(it, doc_get(document->root, "plugins")) {
        const char *type = "";
        if (doc_string(document, doc_get(it, "type"), &type, faults) > 0 &&
            strcmp(type, "agent-cni") == 0)
            return true;
    }
    return false;
}

/* Only what the runtime would choke on, or what would leave us out. */
static int check_conflist(const char *path, const char *content, size_t size,
                          struct cni_error *error)
{
    static const char remedy[] = "correct it; /usr/share/fingerpost/cni has one that works";
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    const char *version = "", *name = "";
    if (document_parse(content, size, path, READER_JSON, &document, &faults) <= 0)
        return faults.list.count
                   ? cni_fail(error, CNI_NOT_DECODED, remedy, "%s: %s", faults.list.items[0].place,
                              faults.list.items[0].message)
                   : cni_fail(error, CNI_NOT_DECODED, remedy, "%s: it is empty", path);
    (void)doc_string(document, doc_get(document->root, "cniVersion"), &version, &faults);
    (void)doc_string(document, doc_get(document->root, "name"), &name, &faults);
    if (!cni_version_find(version))
        return cni_fail(error, CNI_BAD_CONFIGURATION, remedy,
                        "%s: cniVersion \"%.32s\" is not spoken", path, version);
    if (!*name)
        return cni_fail(error, CNI_BAD_CONFIGURATION, remedy, "%s: it has no name", path);
    if (!names_plugin(document, &faults))
        return cni_fail(error, CNI_BAD_CONFIGURATION, remedy,
                        "%s: none of its plugins is of type agent-cni", path);
    return 0;
}

static int write_program(int fd, const char *content, size_t size)
{
    int r = file_write(fd, content, size);
    if (r < 0)
        return r;
    return fchmod(fd, 0755) < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* As file_write_atomic() does, for a program. */
static int replace_program(const char *path, const char *content, size_t size)
{
    AUTOFREE char *temporary = text_format("%s.new", path);
    if (!temporary)
        return -ENOMEM;
    AUTOCLOSE int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0700);
    int r = fd < 0 ? -errno : write_program(fd, content, size);
    r = r < 0 ? r : file_replace(temporary, path);
    if (r < 0 && fd >= 0)
        (void)unlink(temporary);
    return r;
}

static int install_program(const struct cni_install *install, struct cni_error *error)
{
    AUTOFREE char *content = NULL;
    AUTOFREE char *path = text_format("%s/agent-cni", install->bin_dir);
    size_t size = 0;
    if (!path)
        return no_memory(error);
    int r = file_read(install->program, PROGRAM_BYTES, &content, &size);
    if (r < 0)
        return failed(install->program, r, error);
    r = dir_make(install->bin_dir);
    r = r < 0 ? r : replace_program(path, content, size);
    return r < 0 ? failed(path, r, error) : 0;
}

static int install_conflist(const struct cni_install *install, const char *content, size_t size,
                            struct cni_error *error)
{
    const char *slash = strrchr(install->conflist, '/');
    AUTOFREE char *path =
        text_format("%s/%s", install->conf_dir, slash ? slash + 1 : install->conflist);
    if (!path)
        return no_memory(error);
    int r = dir_make(install->conf_dir);
    r = r < 0 ? r : file_write_atomic(path, content, size);
    return r < 0 ? failed(path, r, error) : 0;
}

int cni_install(const struct cni_install *install, struct cni_error *error)
{
    AUTOFREE char *conflist = NULL;
    size_t size = 0;
    int r = file_read(install->conflist, CONFLIST_BYTES, &conflist, &size);
    if (r < 0)
        return failed(install->conflist, r, error);
    r = check_conflist(install->conflist, conflist, size, error);
    if (r < 0)
        return r;
    r = install_program(install, error);
    return r < 0 ? r : install_conflist(install, conflist, size, error);
}
