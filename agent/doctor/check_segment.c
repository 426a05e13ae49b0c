// SPDX-License-Identifier: Apache-2.0
/*
 * Addresses of a segment, and the firewall that goes with what Services have opened: what keeps the
 * agent from the one, and what takes the other's effect away.
 *
 * The unit comes without CAP_NET_RAW; claim-addresses.conf is a drop-in that gives it. An agent
 * that runs is asked for by its process, one that does not by that file.
 */
#include <fnmatch.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "apply/firewall/firewall.h"
#include "base/files/file.h"
#include "base/ours.h"
#include "base/text.h"
#include "doctor/visit.h"

#define DROP_IN "agentd.service.d/claim-addresses.conf"
#define DROP_IN_REMEDY                                                    \
    "copy claim-addresses.conf to /etc/systemd/system/agentd.service.d, " \
    "systemctl daemon-reload, restart agentd"

enum { CAP_NET_RAW_BIT = 13, STATUS_MAX = 64 * 1024 };

static bool claims(struct visit *visit)
{
    if (visit->config && visit->config->addresses.enabled)
        return true;
    visit_skip(visit, "addresses is not configured");
    return false;
}

/* ---- The capability ---- */

/* The process that listens on the socket; 0: unknown. */
static pid_t listener_of(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct ucred peer = { 0 };
    socklen_t size = sizeof(peer);
    if (strlen(path) >= sizeof(address.sun_path))
        return 0;
    memcpy(address.sun_path, path, strlen(path) + 1);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return 0;
    return peer.pid;
}

/* Whether a process may open packet sockets; true if that can't be known. */
static bool may_be_raw(pid_t pid)
{
    AUTOFREE char *path = text_format("/proc/%d/status", (int)pid);
    AUTOFREE char *content = NULL;
    size_t size;
    if (!path || file_read(path, STATUS_MAX, &content, &size) < 0)
        return true;
    const char *line = strstr(content, "CapEff:");
    return !line || (strtoull(line + strlen("CapEff:"), NULL, 16) >> CAP_NET_RAW_BIT & 1);
}

static bool is_in_systemd(const char *name)
{
    static const char *const folders[] = { "/etc/systemd/system", "/run/systemd/system",
                                           "/usr/local/lib/systemd/system",
                                           "/usr/lib/systemd/system", "/lib/systemd/system" };
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        AUTOFREE char *path = text_format("%s/%s", folders[i], name);
        if (path && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static void check_right(struct visit *visit)
{
    if (!claims(visit))
        return;
    pid_t pid = visit->running ? listener_of(visit->socket) : 0;
    if (pid && !may_be_raw(pid))
        visit_fail(visit, DROP_IN_REMEDY,
                   "agentd (process %d) lacks CAP_NET_RAW: it claims no address", (int)pid);
    else if (!visit->running && is_in_systemd("agentd.service") && !is_in_systemd(DROP_IN))
        visit_fail(visit, DROP_IN_REMEDY,
                   "agentd.service has no drop-in with CAP_NET_RAW: it would claim no address");
}

/* ---- The interfaces ---- */

static bool is_there(const struct visit *visit, const char *pattern)
{
    sorted_each(const struct link, link, kernel_links(visit->kernel))
        if (link->type == ARPHRD_ETHER && fnmatch(pattern, link->name, 0) == 0)
            return true;
    return false;
}

static void check_interfaces(struct visit *visit)
{
    if (!claims(visit))
        return;
    vec_each(char *const, pattern, &visit->config->addresses.interfaces)
        if (!is_there(visit, *pattern))
            visit_fail(visit, "see: ip -br link; or leave addresses.interfaces out: any may be one",
                       "addresses.interfaces: no Ethernet interface matches \"%s\"", *pattern);
}

/* ---- The firewall ---- */

static void judge_table(struct visit *visit, struct firewall *firewall,
                        const struct firewall_rules *rules)
{
    CLEANUP(firewall_sets_done) struct firewall_sets sets = { 0 };
    enum firewall_state state;
    int r = firewall_read(firewall, rules, &state, &sets);
    if (r == 0 && state == FIREWALL_OTHER && !visit->running)
        visit_warn(visit, "give yours another name; see: nft list table inet " OURS_NFTABLES_TABLE,
                   "table inet %s has other rules than agentd's, which replaces it at its start",
                   OURS_NFTABLES_TABLE);
}

static void judge_droppers(struct visit *visit, struct firewall *firewall)
{
    char chain[128] = "";
    const struct config *config = visit->config;
    if (firewall_find_drop(firewall, chain, sizeof(chain)) <= 0)
        return;
    const struct detector_facts facts = { .config = config, .firewall = { .drop_chain = chain } };
    if (!visit_detect(visit, detector_find("firewall-overruled"), &facts, ""))
        visit_good(visit, "chain %s drops what it does not accept: mark %#x is for it to accept",
                   chain, config->services.firewall.mark);
}

static void check_opened(struct visit *visit)
{
    CLEANUP(firewall_closep) struct firewall *firewall = NULL;
    const struct config *config = visit->config;
    if (!config || config->services.firewall.mode == FIREWALL_OFF) {
        visit_skip(visit, "services.firewall is off");
        return;
    }
    const struct firewall_rules rules = { config->services.firewall.mode == FIREWALL_MARK
                                              ? config->services.firewall.mark
                                              : 0 };
    int r = firewall_open(&firewall);
    if (r < 0) {
        visit_fail(visit, "modprobe nf_tables (as root); or services.firewall.mode: off",
                   "nftables can't be had: %s", strerror(-r));
        return;
    }
    judge_table(visit, firewall, &rules);
    judge_droppers(visit, firewall);
}

const struct check segment_checks[] = {
    { "segment.right", "raw packets", "agentd may say what it has", check_right },
    { "segment.interfaces", "interfaces of claims", "each that is named is there",
      check_interfaces },
    { "segment.firewall", "opened ports", "nothing takes them back", check_opened },
    { NULL },
};
