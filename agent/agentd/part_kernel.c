// SPDX-License-Identifier: Apache-2.0
/*
 * The locks on the state folder and on this network namespace, and the kernel: the parts that come
 * first, since nothing may be read or written by two agents of one folder or of one kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "agentd/part.h"
#include "base/clock.h"
#include "base/files/lock.h"
#include "base/log.h"
#include "base/macro.h"
#include "faults/node.h"
#include "faults/raise.h"

enum { ROOM_MIN = 64 * 1024 /* bytes: what is noted in the state folder, twice */ };

/* That a stranger has the name keeps nobody from serving. */
static int take_network_lock(struct agent *agent)
{
    pid_t holder = 0;
    agent->network_lock = lock_take_network(&holder);
    if (agent->network_lock == -EBUSY) {
        log_error(
            "another agentd (process %d) serves this network namespace, by a configuration of "
            "its own: stop it first; nothing was touched",
            (int)holder);
        return -EBUSY;
    }
    if (agent->network_lock < 0)
        log_warning("cannot make sure that no other agentd serves this network namespace: %s",
                    strerror(-agent->network_lock));
    return 0;
}

static int take_lock(struct agent *agent)
{
    const char *state = agent->config->paths.state;
    pid_t holder = 0;
    agent->lock = lock_take(state, &holder);
    if (agent->lock >= 0)
        return take_network_lock(agent);
    if (agent->lock == -EBUSY)
        log_error("another agentd (process %d) runs on %s: stop it first, or give this one its own "
                  "paths.state",
                  (int)holder, state);
    else
        log_error("paths.state: cannot lock %s: %s", state, strerror(-agent->lock));
    return agent->lock;
}

/* A cleaner may take the folder, or the file alone. */
static bool lock_stands(const struct agent *agent)
{
    struct stat st;
    return fstat(agent->lock, &st) < 0 || st.st_nlink > 0;
}

/* Whether files can be made there, by mounts, rights and room. Returns 0 or -errno. */
static int look_at_rights(const struct agent *agent)
{
    const char *folder = agent->config->paths.state;
    struct statvfs fs;
    if (faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) < 0)
        return -errno;
    if (statvfs(folder, &fs) < 0)
        return 0; /* whoever took it away is told of by the lock */
    const bool full = fs.f_blocks > 0 && (uint64_t)fs.f_bavail * fs.f_frsize < ROOM_MIN;
    return full || (fs.f_files > 0 && fs.f_favail == 0) ? -ENOSPC : 0;
}

static void tell_state(struct agent *agent, int error, int write_error)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (write_error < 0 && error == 0)
        fault_raise(&faults, agent->config->paths.state, node_state_unwritable,
                    .reason = strerror(-write_error),
                    .remedy = write_error == -EROFS
                                  ? "mount -o remount,rw; dmesg says why the kernel made it so"
                              : write_error == -ENOSPC
                                  ? "make room on that file system: df -h; df -i"
                                  : "let agentd's user write there");
    if (error < 0)
        fault_raise(&faults, agent->config->paths.state, node_state_removed,
                    .reason = strerror(-error));
    (void)fault_book_replace(agent->status.faults, "node", "state", &faults, clock_wall_ms());
}

static int restore_lock(struct agent *agent)
{
    pid_t holder = 0;
    int fd = lock_take(agent->config->paths.state, &holder);
    if (fd < 0)
        return fd;
    log_notice("made %s again, which somebody had emptied", agent->config->paths.state);
    closep(&agent->lock);
    agent->lock = fd;
    return 0;
}

static bool look_at_lock(void *context, int64_t now_ms)
{
    struct agent *agent = context;
    const bool stands = lock_stands(agent), refused = agent->state_refused;
    int r = stands ? 0 : restore_lock(agent);
    int w = r < 0 ? 0 : look_at_rights(agent);
    (void)now_ms;
    tell_state(agent, r, w);
    agent->state_refused = w < 0;
    return (!stands || refused) && r == 0 && w == 0;
}

/* A pass over everything has the others write what they keep there. */
static void write_again(void *context)
{
    schedule_pass(((struct agent *)context)->schedule, true);
}

static const struct look looks[] = { { "state folder", 500, look_at_lock, write_again } };

static int open_lock(struct agent *agent)
{
    int r = take_lock(agent);
    return r < 0 ? r : looks_add(agent->looks, looks, ARRAY_SIZE(looks), agent);
}

static void release_lock(struct agent *agent)
{
    closep(&agent->network_lock);
    closep(&agent->lock);
}

/* paths.state cannot change while the agent runs (reload.c). */
const struct part part_lock = { .name = "lock", .open = open_lock, .close = release_lock };

static int open_kernel(struct agent *agent)
{
    struct kernel_scope scope;
    int r = engines_scope(agent->config, NULL, &scope);
    r = r < 0 ? r : kernel_open(&scope, NL_HERE, &agent->kernel);
    if (r < 0)
        log_error("cannot read the kernel's routing tables: %s", strerror(-r));
    return r;
}

static void close_kernel(struct agent *agent)
{
    kernel_close(agent->kernel);
}

/* routes.table cannot change either. */
const struct part part_kernel = { .name = "kernel", .open = open_kernel, .close = close_kernel };
