// SPDX-License-Identifier: Apache-2.0
/*
 * Turns by a lock; see turn.h.
 *
 * A runtime that lost its patience with an ADD begins a DEL while that ADD still runs. Let both run
 * and the link would be made after it was looked for. All turns are in one file, so that none is
 * left behind: each has a byte of its own, far beyond the file's end, by a hash of whose it is. Two
 * that shared a byte would only wait for each other. The lock is the open file's (F_OFD_SETLKW),
 * which the kernel frees however the process ends.
 */
#include "cni/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/siphash.h"

enum { PATIENCE_S = 60 };

static const char path[] = "/run/agent-cni.lock";

static void add(struct text *key, const char *word)
{
    text_add_bytes(key, word, strlen(word) + 1);
}

/* One of 2^62 bytes. */
static int place_of(const struct cni_request *request, off_t *ret_place)
{
    static const uint8_t no_secret[16] = { 0 };
    AUTOTEXT struct text key = { 0 };
    add(&key, request->socket);
    add(&key, request->container);
    add(&key, request->interface);
    if (text_error(&key) < 0)
        return -ENOMEM;
    *ret_place = (off_t)(siphash(key.data, key.length, no_secret) >> 2);
    return 0;
}

/* Its only effect is that the wait for the lock ends. */
static void on_alarm(int number)
{
    (void)number;
}

static int wait_for(int fd, off_t place)
{
    const struct sigaction action = { .sa_handler = on_alarm };
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = place, .l_len = 1 };
    if (sigaction(SIGALRM, &action, NULL) < 0)
        return -errno;
    (void)alarm(PATIENCE_S);
    int r = fcntl(fd, F_OFD_SETLKW, &lock) < 0 ? -errno : 0;
    (void)alarm(0);
    return r;
}

int turn_take(const struct cni_request *request, int *ret_fd, struct cni_error *error)
{
    off_t place = 0;
    AUTOCLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int r = fd < 0 ? -errno : place_of(request, &place);
    r = r < 0 ? r : wait_for(fd, place);
    if (r == -EINTR)
        return cni_fail(error, CNI_TRY_AGAIN, "see what agent-cni waits for (ps, agentctl faults)",
                        "%s of %s: another agent-cni has been at work on it for a minute",
                        request->interface, request->container);
    if (r < 0)
        return cni_fail(error, CNI_IO_FAILURE, "agent-cni has to be run by root, with a /run",
                        "%s: %s", path, strerror(-r));
    *ret_fd = TAKE_FD(fd);
    return 0;
}
