// SPDX-License-Identifier: Apache-2.0
/*
 * Clocks that a test can move, for one program: a library to be preloaded. It adds so many seconds
 * as the file named by WALL_CLOCK holds to the wall clock, and so many milliseconds as that of
 * BOOT_CLOCK to CLOCK_BOOTTIME, as if the machine had slept (text, the last offset that could be
 * read stays); the monotonic clock, timers and the kernel's file times are the real ones. No
 * process of the machine is touched.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void read_offset(const char *variable, long *last)
{
    const char *path = getenv(variable);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char text[32] = "";
    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
        *last = strtol(text, NULL, 10);
    if (fd >= 0)
        close(fd);
}

static void add(struct timespec *time, long ms)
{
    long ns = time->tv_nsec + ms % 1000 * 1000000;
    time->tv_sec += ms / 1000 + (ns >= 1000000000) - (ns < 0);
    time->tv_nsec = (ns + 1000000000) % 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static long wall_s, boot_ms;
    int r = (int)syscall(SYS_clock_gettime, clock, time);
    if (r != 0)
        return r;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        read_offset("WALL_CLOCK", &wall_s);
        time->tv_sec += wall_s;
    } else if (clock == CLOCK_BOOTTIME) {
        read_offset("BOOT_CLOCK", &boot_ms);
        add(time, boot_ms);
    }
    return 0;
}

time_t time(time_t *ret)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}
