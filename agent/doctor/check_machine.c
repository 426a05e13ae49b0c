// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel and the host: version, rights, bpffs, modules, sysctls, folders, disk, ports, clock.
 *
 * What only service NAT or egress needs is looked at only where the configuration asks for it.
 * Values under /proc/sys that no notification tells of are read at each run.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "apply/host_facts.h"
#include "base/files/file.h"
#include "base/net/socket_address.h"
#include "base/text.h"
#include "bpf/abi.h"
#include "bpf/egress_abi.h"
#include "doctor/visit.h"

enum {
    KERNEL_MAJOR = 6, /* the oldest that is tested: 6.1 */
    KERNEL_MINOR = 1,
    DISK_FREE_MIN = 64, /* MiB: the copy of the objects, twice */
    VALUE_MAX = 4096,
};

static bool uses_bpf(const struct visit *visit)
{
    const struct config *config = visit->config;
    return config &&
           (config->services.enabled || config->egress.enabled || config->egress.gateway.enabled);
}

static void check_kernel(struct visit *visit)
{
    struct utsname name;
    unsigned major = 0, minor = 0;

    if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2) {
        visit_warn(visit, "see: uname -r", "no version can be read");
        return;
    }
    if (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR))
        visit_warn(visit, "use a kernel that is tested: 6.1 or later", "Linux %s", name.release);
    else
        visit_good(visit, "Linux %s", name.release);
}

/* The effective capabilities of this process; all bits if that can't be read. */
static unsigned long long capabilities(void)
{
    AUTOFREE char *content = NULL;
    size_t size;
    if (file_read("/proc/self/status", VALUE_MAX, &content, &size) < 0)
        return ~0ULL;
    const char *line = strstr(content, "CapEff:");
    return line ? strtoull(line + strlen("CapEff:"), NULL, 16) : ~0ULL;
}

static void check_rights(struct visit *visit)
{
    static const struct {
        int bit;
        const char *name;
        bool bpf;
    } wanted[] = {
        { 12, "CAP_NET_ADMIN", false },
        { 39, "CAP_BPF", true },
        { 38, "CAP_PERFMON", true },
    };
    const unsigned long long had = capabilities();

    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        if (!(had >> wanted[i].bit & 1) && (!wanted[i].bpf || uses_bpf(visit)))
            visit_warn(visit,
                       "run doctor as root; in a container, let the runtime give the capability",
                       "%s is missing here", wanted[i].name);
}

/* The file system of a folder, or of the nearest one above it that exists. */
static int nearest_fs(const char *path, struct statfs *ret_fs)
{
    AUTOFREE char *copy = strdup(path);
    while (copy && *copy) {
        if (statfs(copy, ret_fs) == 0)
            return 0;
        char *slash = strrchr(copy, '/');
        if (errno != ENOENT || !slash)
            return -errno;
        *slash = '\0';
    }
    return statfs("/", ret_fs) < 0 ? -errno : 0;
}

static void check_bpffs(struct visit *visit)
{
    struct statfs fs;

    if (!uses_bpf(visit)) {
        visit_skip(visit, "neither services nor egress is enabled");
        return;
    }
    if (nearest_fs(visit->config->paths.bpf, &fs) < 0 || fs.f_type != BPF_FS_MAGIC)
        visit_fail(visit,
                   "mount -t bpf bpf /sys/fs/bpf && systemd-tmpfiles --create; then restart agentd",
                   "%s is not on a bpf file system", visit->config->paths.bpf);
    else
        visit_good(visit, "%s", visit->config->paths.bpf);
}

/*
 * Maps of service NAT and of egress, that an agent of another version has pinned: the programs of
 * this one have another layout, and begin with empty tables.
 */
static void check_pins(struct visit *visit)
{
    if (!uses_bpf(visit)) {
        visit_skip(visit, "neither services nor egress is enabled");
        return;
    }
    DIR *folder = opendir(visit->config->paths.bpf);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        unsigned layout = 0;
        const bool nat = sscanf(entry->d_name, "%u", &layout) == 1 && layout != NAT_LAYOUT;
        const bool egress = (sscanf(entry->d_name, "egress-gateway-%u", &layout) == 1 ||
                             sscanf(entry->d_name, "egress-%u", &layout) == 1) &&
                            layout != EGRESS_LAYOUT;
        if (nat || egress)
            visit_warn(visit,
                       "flows begin anew with this version; when no agent of the other one is to "
                       "come back: agentctl cleanup, with agentd stopped",
                       "%s/%s is of another version's layout", visit->config->paths.bpf,
                       entry->d_name);
    }
    if (folder)
        (void)closedir(folder);
}

/* If the machine has addresses of a family that packets could be forwarded for. */
static bool has_family(const struct visit *visit, uint8_t family)
{
    sorted_each(const struct link_address, address, kernel_link_addresses(visit->kernel))
        if (address->ip.family == family && address->scope == 0)
            return true;
    return false;
}

static void check_sysctls(struct visit *visit)
{
    struct detector_facts facts = { .config = visit->config,
                                    .settings = { .v4 = has_family(visit, IP_V4),
                                                  .v6 = has_family(visit, IP_V6) } };
    host_facts_read(FACT_SETTINGS, &facts);
    (void)visit_detect(visit, detector_find("forwarding"), &facts, "");
    if (visit->config && visit->config->services.enabled)
        (void)visit_detect(visit, detector_find("nat-settings"), &facts, "");
}

static void check_folder(struct visit *visit, const char *path)
{
    struct statvfs fs;
    if (access(path, F_OK) < 0) {
        visit_warn(visit, "systemd-tmpfiles --create (agentd makes it if it may)",
                   "%s does not exist yet", path);
        return;
    }
    if (access(path, W_OK) < 0 || statvfs(path, &fs) < 0) {
        visit_fail(visit, "mount it writable, or name another folder in paths:", "%s: %s", path,
                   strerror(errno));
        return;
    }
    const uint64_t free_mib = (uint64_t)fs.f_bavail * fs.f_frsize >> 20;
    if (free_mib < DISK_FREE_MIN)
        visit_fail(visit, "make room on that file system", "%s has %llu MiB left", path,
                   (unsigned long long)free_mib);
    else if (fs.f_files > 0 && fs.f_favail == 0)
        visit_fail(visit, "remove files from that file system", "%s has no inode left", path);
}

static void check_state(struct visit *visit)
{
    if (visit->config)
        check_folder(visit, visit->config->paths.state);
    else
        visit_skip(visit, "no configuration");
}

/* "ADDRESS:PORT" as a socket address; 0: not to be listened on. */
static socklen_t socket_address(const char *endpoint, struct sockaddr_storage *address)
{
    struct ip ip;
    uint16_t port;

    return ip_port_parse(endpoint, &ip, &port) < 0 || port == 0
               ? 0
               : socket_address_of(&ip, port, address);
}

static void check_port(struct visit *visit, const char *key, const char *endpoint,
                       const char *remedy)
{
    struct sockaddr_storage address;
    const int on = 1;
    const socklen_t length = endpoint ? socket_address(endpoint, &address) : 0;

    if (length == 0)
        return;
    AUTOCLOSE int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)&address, length) < 0 || listen(fd, 1) < 0)
        visit_fail(visit, remedy, "%s %s: %s", key, endpoint, strerror(errno));
}

static void check_ports(struct visit *visit)
{
    if (!visit->config || visit->running) {
        visit_skip(visit, visit->running ? "the agent runs and has them" : "no configuration");
        return;
    }
    check_port(visit, "api.listen", visit->config->api.listen,
               "find out who has it (ss -ltnp), or name another port in api.listen");
    if (visit->config->services.enabled)
        check_port(visit, "services.healthz", visit->config->services.healthz,
                   "stop kube-proxy, or name another port in services.healthz");
}

/* What comes to this port is for the programs: a socket that has it would never see it. */
static void check_tunnel_port(struct visit *visit)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    const struct config *config = visit->config;
    if (!config || visit->running || (!config->egress.enabled && !config->egress.gateway.enabled)) {
        visit_skip(visit, visit->running ? "the agent runs" : "egress is not configured");
        return;
    }
    address.sin_port = htons((uint16_t)config->egress.port);
    AUTOCLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        visit_fail(visit,
                   "find out who has it (ss -lnup), or name another egress.port on all nodes",
                   "UDP port %u: %s", config->egress.port, strerror(errno));
}

/* No node can see it: what was never sent was not dropped. So it is said, not judged. */
static void check_tunnel_edge(struct visit *visit)
{
    const struct config *config = visit->config;
    if (!config || (!config->egress.enabled && !config->egress.gateway.enabled))
        visit_skip(visit, "egress is not configured");
    else
        visit_skip(visit,
                   "no node can see it: have routers at the edge drop UDP port %u in both "
                   "directions (nft: iifname OUTSIDE udp dport %u drop, oifname likewise), and "
                   "ToRs check the sources of what servers send (rp_filter=1, uRPF strict)",
                   config->egress.port, config->egress.port);
}

/* Certificates and leases of others go by the time. */
static bool needs_clock(const struct config *config)
{
    return config->source.kubernetes || config->addresses.etcd.endpoints.count ||
           config->consul.enabled;
}

static void check_clock(struct visit *visit)
{
    struct timex clock = { 0 };
    if (visit->config && needs_clock(visit->config) &&
        (adjtimex(&clock) < 0 || clock.status & STA_UNSYNC))
        visit_warn(visit, "timedatectl set-ntp true; see: timedatectl",
                   "nothing keeps the clock right");
}

const struct check machine_checks[] = {
    { "machine.kernel", "kernel", "Linux 6.1 or later", check_kernel },
    { "machine.rights", "capabilities", "those of agentd.service", check_rights },
    { "machine.bpffs", "bpf file system", "mounted where paths.bpf is", check_bpffs },
    { "machine.pins", "pinned maps", "of this version's layout", check_pins },
    { "machine.sysctl", "sysctls", "forwarding on; accept_local of lo for service NAT",
      check_sysctls },
    { "machine.state", "state folder", "writable, with room", check_state },
    { "machine.ports", "ports", "free for the agent to listen on", check_ports },
    { "machine.fou", "egress' UDP port", "nobody else listens there", check_tunnel_port },
    { "machine.edge", "the fabric's edge", "drops egress' UDP port", check_tunnel_edge },
    { "machine.clock", "clock", "right, and kept right", check_clock },
    { NULL },
};
