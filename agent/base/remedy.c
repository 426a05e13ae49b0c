// SPDX-License-Identifier: Apache-2.0
/* See remedy.h. Called wherever a fault is an errno and a name. */
#include "base/remedy.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/macro.h"

struct advice {
    int error;
    const char *words;
};

static const char more_memory[] = "give the program more memory: MemoryMax= of its unit, free -m";

static const struct advice for_files[] = {
    { EACCES, "give the program's user the right to it: ls -ld, and ReadWritePaths= of its unit" },
    { EPERM, "give the program's user the right to it: ls -ld, lsattr, and ReadWritePaths= of its "
             "unit" },
    { EROFS, "mount that file system for writing: findmnt, dmesg" },
    { ENOSPC, "make room on that file system: df, df -i" },
    { EDQUOT, "make room, or raise the quota: quota" },
    { ENOENT, "put it there, or name another" },
    { ENOTDIR, "make a folder of what is a file on its way, or name another" },
    { EISDIR, "put a file where that folder is, or name another" },
    { ELOOP, "mend the symbolic links on its way: namei -l" },
    { EMFILE, "let the program have more files open: LimitNOFILE= of its unit" },
    { ENFILE, "let the machine have more files open: sysctl fs.file-max" },
    { EIO, "see dmesg: the disk reports errors" },
    { ENOMEM, more_memory },
};

static const struct advice for_kernel[] = {
    { EPERM, "give the program CAP_NET_ADMIN and CAP_BPF: AmbientCapabilities= of its unit" },
    { EACCES, "give the program CAP_NET_ADMIN and CAP_BPF: AmbientCapabilities= of its unit" },
    { ENOSPC, "make room in it: the table is full" },
    { E2BIG, "make room in it: the table is full" },
    { ENOENT, "see whether another program takes away what is ours: agentctl diff" },
    { ENODEV, "see whether the interface is still there: ip link" },
    { ENETUNREACH, "see whether the interface and its address are there: ip addr, ip route" },
    { ENETDOWN, "set the interface up: ip link set NAME up" },
    { EOPNOTSUPP, "take a kernel that can do this: agentctl doctor names what is missing" },
    { EMFILE, "let the program have more files open: LimitNOFILE= of its unit" },
    { ENOMEM, more_memory },
};

static const char *find(const struct advice *advices, size_t count, int error,
                        const char *otherwise)
{
    for (size_t i = 0; i < count; i++) {
        if (advices[i].error == abs(error))
            return advices[i].words;
    }
    return otherwise;
}

const char *remedy_for_file(int error)
{
    return find(for_files, ARRAY_SIZE(for_files), error, "see stat and dmesg for what is with it");
}

const char *remedy_for_kernel(int error)
{
    return find(for_kernel, ARRAY_SIZE(for_kernel), error,
                "see dmesg, and agentctl doctor for what this kernel lacks");
}
