// SPDX-License-Identifier: Apache-2.0
/*
 * Watches a folder by inotify; the only user is manifest.c.
 *
 * inotify watches an inode, not a path. So the parent is watched as well: its events show that the
 * folder was created again, or that a symbolic link with its name was changed. If the parent is
 * missing too, a timer retries. No descriptor of the folder is kept: the kernel sends
 * IN_DELETE_SELF only when a removed directory has no users any more.
 *
 * A new file causes IN_CREATE while it is still empty; its content is complete at IN_CLOSE_WRITE.
 * Links cause no close event: a new symbolic link, or a new hard link of a file with others, is
 * reported at once. (An O_TMPFILE file that is linked into the folder looks like one that is still
 * being written, and is found by the next rescan.)
 *
 * ConfigMap volumes replace everything by renaming a link named "..data", to which the visible
 * names point; those cause no events of their own. Lost events (IN_Q_OVERFLOW), an unmount and
 * changes of the folder itself have the same effect: everything is listed again.
 */
#include "source/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/macro.h"
#include "base/text.h"
#include "loop/backoff.h"
#include "loop/timer.h"

enum {
    /* An API request that arrives after a rename must find it observed. */
    PRIORITY = SD_EVENT_PRIORITY_NORMAL - 10,
    MEMBER_EVENTS =
        IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB,
    OWN_EVENTS = IN_DELETE_SELF | IN_MOVE_SELF,
    PARENT_EVENTS = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB,
    RETRY_FIRST_MS = 250,
    RETRY_LAST_MS = 5000,
};

struct folder {
    char *path;
    char *parent;
    char *base; /* its name in the parent */
    sd_event *event;
    struct folder_handler handler;
    sd_event_source *watch, *parent_watch;
    struct timer *retry;
    struct backoff backoff;
    dev_t device; /* of the watched directory */
    ino_t inode;
    int error; /* last error passed to lost(); 0: the folder exists */
};

static int name_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void directory_closep(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

static int read_names(int fd, name_list *ret_names)
{
    CLEANUP(directory_closep) DIR *directory = fdopendir(fd);
    if (!directory) {
        int error = -errno;
        (void)close(fd);
        return error;
    }

    AUTONAMES name_list names = { 0 };
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry && errno != 0)
            return -errno;
        if (!entry)
            break;
        if (entry->d_name[0] == '.')
            continue;
        AUTOFREE char *name = strdup(entry->d_name);
        if (!name || vec_push(&names, name) < 0)
            return -ENOMEM;
        TAKE_PTR(name);
    }
    vec_sort(&names, name_cmp);
    *ret_names = names;
    names = (name_list){ 0 };
    return 0;
}

/* True for a new name whose content is not complete yet; its close will be a separate event. */
static bool still_written(const struct folder *folder, const char *name)
{
    struct stat st;
    AUTOFREE char *path = text_format("%s/%s", folder->path, name);
    if (!path || lstat(path, &st) < 0)
        return false;
    return S_ISREG(st.st_mode) && st.st_nlink == 1;
}

static int on_event(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
    (void)source;
    struct folder *folder = userdata;

    if (event->mask & (OWN_EVENTS | IN_UNMOUNT | IN_IGNORED))
        folder->watch = sd_event_source_disable_unref(folder->watch);
    if (event->len == 0 || strcmp(event->name, "..data") == 0) {
        folder_rescan(folder);
        return 0;
    }
    if (event->name[0] == '.')
        return 0;
    if ((event->mask & IN_CREATE) && folder_is_manifest(event->name) &&
        still_written(folder, event->name))
        return 0;
    folder->handler.touched(folder->handler.context, event->name, event->mask & IN_ATTRIB);
    return 0;
}

static int on_parent_event(sd_event_source *source, const struct inotify_event *event,
                           void *userdata)
{
    (void)source;
    struct folder *folder = userdata;

    if (event->mask & (OWN_EVENTS | IN_UNMOUNT | IN_IGNORED))
        folder->parent_watch = sd_event_source_disable_unref(folder->parent_watch);
    if (event->len == 0 || strcmp(event->name, folder->base) == 0)
        folder_rescan(folder);
    return 0;
}

/* A parent that can't be watched only causes a delay: the timer retries as well. */
static void watch_parent(struct folder *folder)
{
    if (folder->parent_watch)
        return;
    if (sd_event_add_inotify(folder->event, &folder->parent_watch, folder->parent,
                             PARENT_EVENTS | OWN_EVENTS | IN_ONLYDIR, on_parent_event, folder) >= 0)
        (void)sd_event_source_set_priority(folder->parent_watch, PRIORITY);
}

static int watch(struct folder *folder, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (folder->watch && folder->device == st.st_dev && folder->inode == st.st_ino)
        return 0;

    folder->watch = sd_event_source_disable_unref(folder->watch);
    int r = sd_event_add_inotify_fd(folder->event, &folder->watch, fd, MEMBER_EVENTS | OWN_EVENTS,
                                    on_event, folder);
    if (r >= 0)
        r = sd_event_source_set_priority(folder->watch, PRIORITY);
    if (r < 0)
        return r;
    folder->device = st.st_dev;
    folder->inode = st.st_ino;
    return 0;
}

/* The watch is added before the folder is listed, so that changes between the two cause events. */
static int watch_and_list(struct folder *folder, name_list *ret_names)
{
    AUTOCLOSE int fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = watch(folder, fd);
    if (r < 0)
        return r;
    return read_names(TAKE_FD(fd), ret_names);
}

void folder_rescan(struct folder *folder)
{
    AUTONAMES name_list names = { 0 };
    watch_parent(folder);
    int r = watch_and_list(folder, &names);
    if (r < 0) {
        folder->watch = sd_event_source_disable_unref(folder->watch);
        folder_rescan_later(folder);
        if (folder->error != r)
            folder->handler.lost(folder->handler.context, r);
        folder->error = r;
        return;
    }
    folder->error = 0;
    backoff_reset(&folder->backoff);
    timer_disarm(folder->retry);
    folder->handler.listed(folder->handler.context, &names);
}

void folder_rescan_later(struct folder *folder)
{
    timer_arm(folder->retry, backoff_next(&folder->backoff));
}

bool folder_exists(const struct folder *folder)
{
    struct stat st;
    return stat(folder->path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool folder_is_manifest(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && name[0] != '.' &&
           (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
}

int folder_names(const char *path, name_list *ret_names)
{
    AUTOCLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return read_names(TAKE_FD(fd), ret_names);
}

void name_list_done(name_list *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    vec_done(names);
}

/* Splits the path into parent and name; "a/b//" has the name "b", "b" the parent ".". */
static int split(struct folder *folder, const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    folder->path = strndup(path, length);
    if (!folder->path)
        return -ENOMEM;
    const char *slash = strrchr(folder->path, '/');
    folder->base = strdup(slash ? slash + 1 : folder->path);
    if (!slash)
        folder->parent = strdup(".");
    else
        folder->parent = strndup(folder->path, MAX((size_t)(slash - folder->path), (size_t)1));
    return folder->base && folder->parent ? 0 : -ENOMEM;
}

static void on_retry(void *context)
{
    folder_rescan(context);
}

int folder_new(sd_event *event, const char *path, const struct folder_handler *handler,
               struct folder **ret_folder)
{
    CLEANUP(folder_freep) struct folder *folder = calloc(1, sizeof(*folder));
    if (!folder)
        return -ENOMEM;
    folder->event = sd_event_ref(event);
    folder->handler = *handler;
    folder->backoff = (struct backoff){ .initial_ms = RETRY_FIRST_MS, .max_ms = RETRY_LAST_MS };
    int r = split(folder, path);
    if (r < 0)
        return r;
    r = timer_new(event, SD_EVENT_PRIORITY_NORMAL, on_retry, folder, &folder->retry);
    if (r < 0)
        return r;
    *ret_folder = TAKE_PTR(folder);
    return 0;
}

void folder_free(struct folder *folder)
{
    if (!folder)
        return;
    sd_event_source_disable_unref(folder->watch);
    sd_event_source_disable_unref(folder->parent_watch);
    timer_free(folder->retry);
    sd_event_unref(folder->event);
    free(folder->path);
    free(folder->parent);
    free(folder->base);
    free(folder);
}
