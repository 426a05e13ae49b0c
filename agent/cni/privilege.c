// SPDX-License-Identifier: Apache-2.0
/*
 * Gives capabilities away; see privilege.h. By the system call itself: all that libcap would add is
 * a library.
 *
 * The process stays root by its user id: agentd's socket asks for that, and the files of /proc/sys
 * that are written belong to it. That is worth nothing where a capability is asked for.
 */
#include "cni/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t capabilities_of(enum privilege privilege)
{
    switch (privilege) {
    case PRIVILEGE_ENTER:
        return 1U << CAP_NET_ADMIN | 1U << CAP_SYS_ADMIN;
    case PRIVILEGE_NETWORK:
        return 1U << CAP_NET_ADMIN;
    case PRIVILEGE_NONE:
        break;
    }
    return 0;
}

int privilege_keep(enum privilege privilege, struct cni_error *error)
{
    const uint32_t kept = capabilities_of(privilege);
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    const struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
        { .effective = kept, .permitted = kept },
    };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &header, data) < 0)
        return cni_fail(error, CNI_IO_FAILURE,
                        "agent-cni has to be run by root, as container runtimes do",
                        "capabilities can't be set: %s", strerror(errno));
    return 0;
}
