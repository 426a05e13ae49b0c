// SPDX-License-Identifier: Apache-2.0
/*
 * Which unit a BIRD is of says its control group; what the unit does when it is stopped, its files:
 * the unit's own and its drop-ins, in the folders that systemd reads (systemd.unit(5)). Debian's
 * bird.service (2.0.12) has no ExecStop: BIRD is ended by SIGTERM, closes its sessions, and its
 * routes are withdrawn.
 */
#include "doctor/bird_unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files/file.h"
#include "base/text.h"

enum { FILE_LIMIT = 1 << 20 };

static const char *const folders[] = { "/etc/systemd/system", "/run/systemd/system",
                                       "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                       "/lib/systemd/system" };

/* What the drop-in says in its ExecStop, and any other has to. */
static const char graceful[] = "graceful restart";

static const char remedy[] = "mkdir -p /etc/systemd/system/bird.service.d; cp "
                             "/usr/share/fingerpost/systemd/bird-restart.conf "
                             "/etc/systemd/system/bird.service.d/fingerpost.conf; systemctl "
                             "daemon-reload";
static const char remedy_of_others[] =
    "give it what /usr/share/fingerpost/systemd/bird-restart.conf has, with the options of its own "
    "ExecStart and $BIRD_RESTART behind them; systemctl daemon-reload";

/* Whether a file has a line "KEY=..." with this word in it. */
static bool has_line(const char *path, const char *key, const char *word)
{
    AUTOFREE char *content = NULL;
    size_t size;
    if (file_read(path, FILE_LIMIT, &content, &size) < 0)
        return false;
    for (char *rest = content, *line; (line = strsep(&rest, "\n"));) {
        const char *value = line + strlen(key);
        if (strncmp(line, key, strlen(key)) == 0 && strstr(value, word))
            return true;
    }
    return false;
}

static bool has_drop_in(const char *folder, const char *unit, const char *key, const char *word)
{
    AUTOFREE char *drop_ins = text_format("%s/%s.d", folder, unit);
    bool found = false;
    DIR *dir = drop_ins ? opendir(drop_ins) : NULL;
    if (!dir)
        return false;
    for (struct dirent *entry; !found && (entry = readdir(dir));) {
        AUTOFREE char *path = text_format("%s/%s", drop_ins, entry->d_name);
        const char *end = strrchr(entry->d_name, '.');
        found = path && end && strcmp(end, ".conf") == 0 && has_line(path, key, word);
    }
    (void)closedir(dir);
    return found;
}

/* The last part of the group's path, if that is a service: "0::/system.slice/bird.service". */
static int find_unit(pid_t pid, char ret_unit[static BIRD_UNIT_LEN])
{
    AUTOFREE char *path = text_format("/proc/%d/cgroup", (int)pid);
    AUTOFREE char *content = NULL;
    size_t size;
    if (!path || file_read(path, FILE_LIMIT, &content, &size) < 0)
        return -ENOENT;
    for (char *rest = content, *line; (line = strsep(&rest, "\n"));) {
        const char *name = strrchr(line, '/'), *end = name ? strstr(name, ".service") : NULL;
        bool is_systemds = strncmp(line, "0::", 3) == 0 || strstr(line, ":name=systemd:");
        if (is_systemds && end && strcmp(end, ".service") == 0 && strlen(name) <= BIRD_UNIT_LEN) {
            (void)snprintf(ret_unit, BIRD_UNIT_LEN, "%s", name + 1);
            return 0;
        }
    }
    return -ENOENT;
}

int bird_unit_withdraws(pid_t pid, char ret_unit[static BIRD_UNIT_LEN])
{
    bool starts_bird = false, stops = false;
    if (pid <= 0 || find_unit(pid, ret_unit) < 0)
        return -ENOENT;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        AUTOFREE char *path = text_format("%s/%s", folders[i], ret_unit);
        if (!path)
            return -ENOMEM;
        starts_bird |= has_line(path, "ExecStart=", "bird");
        stops |= has_line(path, "ExecStop=", graceful) ||
                 has_drop_in(folders[i], ret_unit, "ExecStop=", graceful);
    }
    return starts_bird ? !stops : -ENOENT;
}

const char *bird_unit_remedy(const char *unit)
{
    bool is_debians = false;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        AUTOFREE char *path = text_format("%s/%s", folders[i], unit);
        is_debians |= path && has_line(path, "ExecStart=", "bird -f -u $BIRD_RUN_USER");
    }
    return is_debians && strcmp(unit, "bird.service") == 0 ? remedy : remedy_of_others;
}
