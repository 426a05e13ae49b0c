// SPDX-License-Identifier: Apache-2.0
/*
 * What a container runtime makes of pods' networks: it takes the first file of its folder, by name,
 * and asks the plugins that are named there. A file of another network, left by what was there
 * before, and a runtime that reads another folder look the same to an operator: pods without
 * addresses of ours.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/files/containerd.h"
#include "base/files/file.h"
#include "base/text.h"
#include "doctor/visit.h"

#define CONF_DIR   "/etc/cni/net.d"
#define CONTAINERD CONTAINERD_CONFIG
#define PLUGIN     "\"agent-cni\""
#define BIN_DIR    "/opt/cni/bin"
#define VERSION    "agent-cni " FINGERPOST_VERSION
#define INSTALL_IT "agent-cni install, as root"

enum {
    FILE_MAX = 1024 * 1024,
    PROGRAM_MAX = 64 * 1024 * 1024,
    TCX_MAJOR = 6, /* from Linux 6.6 on programs need no clsact qdisc */
    TCX_MINOR = 6,
};

static bool gives_addresses(struct visit *visit)
{
    if (visit->config && visit->config->pods.enabled)
        return true;
    visit_skip(visit, "pods is not enabled");
    return false;
}

static void check_runtime(struct visit *visit)
{
    AUTOFREE char *content = NULL;
    size_t size;
    if (!gives_addresses(visit))
        return;
    int r = file_read(CONTAINERD, FILE_MAX, &content, &size);
    if (r < 0) {
        visit_skip(visit, "%s: %s", CONTAINERD, strerror(-r));
        return;
    }
    AUTOFREE char *folder = containerd_value(content, "conf_dir");
    if (folder && *folder && strcmp(folder, CONF_DIR) != 0)
        visit_warn(visit, "set conf_dir to " CONF_DIR ", or: agent-cni install --conf-dir FOLDER",
                   "containerd reads %s (conf_dir in %s)", folder, CONTAINERD);
}

static int is_network(const struct dirent *entry)
{
    return fnmatch("*.conf", entry->d_name, 0) == 0 ||
           fnmatch("*.conflist", entry->d_name, 0) == 0 || fnmatch("*.json", entry->d_name, 0) == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool is_ours(const char *path)
{
    AUTOFREE char *content = NULL;
    size_t size;
    return file_read(path, FILE_MAX, &content, &size) == 0 && strstr(content, PLUGIN);
}

/*
 * "/etc/cni/net.d/10-x.conflist", which a runtime takes; and the first that names agent-cni, NULL:
 * none. Returns 0, or -errno; -ENOENT: there is no file.
 */
static int first_network(char **ret_path, char **ret_ours)
{
    struct dirent **entries;
    int count = scandir(CONF_DIR, &entries, is_network, by_bytes);
    if (count < 0)
        return -errno;
    for (int i = 0; i < count; i++) {
        AUTOFREE char *path = text_format("%s/%s", CONF_DIR, entries[i]->d_name);
        free(entries[i]);
        if (path && !*ret_ours && is_ours(path))
            *ret_ours = strdup(path);
        if (i == 0)
            *ret_path = TAKE_PTR(path);
    }
    free(entries);
    return count == 0 ? -ENOENT : *ret_path ? 0 : -ENOMEM;
}

/* The file of another network is before agent-cni's, if that has one at all. */
static void tell_other(struct visit *visit, const char *path, const char *ours)
{
    AUTOFREE char *remedy = ours ? text_format("remove %s, or give %s a name before it", path, ours)
                                 : text_format("remove it, then: " INSTALL_IT);
    AUTOFREE char *beside = ours ? text_format("; %s, which does, comes behind it", ours) : NULL;
    visit_fail(visit, remedy,
               "%s is the first of its folder, and does not name agent-cni: pods get their "
               "addresses elsewhere%s",
               path, beside ? beside : "");
}

static void check_network(struct visit *visit)
{
    AUTOFREE char *path = NULL;
    AUTOFREE char *ours = NULL;
    AUTOFREE char *content = NULL;
    size_t size;
    if (!gives_addresses(visit))
        return;
    int r = first_network(&path, &ours);
    if (r < 0) {
        visit_fail(visit, INSTALL_IT, "no network in %s: %s", CONF_DIR, strerror(-r));
        return;
    }
    r = file_read(path, FILE_MAX, &content, &size);
    if (r < 0)
        visit_fail(visit, "make it readable", "%s: %s", path, strerror(-r));
    else if (!strstr(content, PLUGIN))
        tell_other(visit, path, ours);
    else
        visit_good(visit, "%s", path);
}

/* Where containerd looks for plugins, which the caller frees; NULL: no memory. */
static char *plugin_folder(void)
{
    char *folder = containerd_bin_dir();
    return folder ? folder : strdup(BIN_DIR);
}

/* By what it says of itself: nothing is run. */
static void check_plugin(struct visit *visit)
{
    AUTOFREE char *content = NULL;
    size_t size;
    if (!gives_addresses(visit))
        return;
    AUTOFREE char *folder = plugin_folder();
    AUTOFREE char *path = folder ? text_format("%s/agent-cni", folder) : NULL;
    int r = path ? file_read(path, PROGRAM_MAX, &content, &size) : -ENOMEM;
    if (r < 0)
        visit_fail(visit, INSTALL_IT, "%s: %s", path ? path : BIN_DIR, strerror(-r));
    else if (access(path, X_OK) < 0)
        visit_fail(visit, "chmod 0755 it, on a file system that is not mounted noexec", "%s: %s",
                   path, strerror(errno));
    else if (!memmem(content, size, VERSION, strlen(VERSION)))
        visit_warn(visit, INSTALL_IT ": of the version that agentctl has",
                   "%s is of another version than " FINGERPOST_VERSION, path);
    else
        visit_good(visit, "%s, version " FINGERPOST_VERSION, path);
}

/* Whether programs stand in clsact qdiscs, and `ret_release` is the kernel's version. */
static bool uses_clsact(const struct config *config, struct utsname *ret_release)
{
    unsigned major = 0, minor = 0;
    if (!config || (!config->services.enabled && !config->egress.enabled))
        return false;
    if (uname(ret_release) < 0 || sscanf(ret_release->release, "%u.%u", &major, &minor) != 2)
        return false;
    return major < TCX_MAJOR || (major == TCX_MAJOR && minor < TCX_MINOR);
}

/* The plugin puts a qdisc "ingress" where our clsact is, for what a pod sends. */
static void check_bandwidth(struct visit *visit)
{
    AUTOFREE char *path = NULL;
    AUTOFREE char *ours = NULL;
    AUTOFREE char *content = NULL;
    struct utsname kernel;
    size_t size;
    if (!uses_clsact(visit->config, &kernel)) {
        visit_skip(visit, "the kernel has TCX, or no program is wanted at pods");
        return;
    }
    if (first_network(&path, &ours) < 0 || file_read(path, FILE_MAX, &content, &size) < 0)
        return; /* pods.network says so where it matters */
    if (strstr(content, "\"bandwidth\""))
        visit_warn(visit,
                   "use Linux 6.6 or later; until then, limit no pod by the annotation "
                   "egress-bandwidth of kubernetes.io",
                   "%s names the plugin bandwidth: with Linux %s, pods whose egress it limits "
                   "do not start beside the agent's programs",
                   path, kernel.release);
}

const struct check pod_checks[] = {
    { "pods.plugin", "CNI plugin", "agent-cni of this version, where the runtime looks",
      check_plugin },
    { "pods.network", "CNI network", "the first file of " CONF_DIR " names agent-cni",
      check_network },
    { "pods.bandwidth", "bandwidth plugin", "it finds no clsact qdisc of ours at a pod",
      check_bandwidth },
    { "pods.runtime", "container runtime", "it reads " CONF_DIR, check_runtime },
    { NULL },
};
