// SPDX-License-Identifier: Apache-2.0
/*
 * State on disk: when addresses of pods were freed, for the age that a freed address must reach
 * before it is assigned again; and to which CNI network each interface belongs, since GC frees the
 * interfaces of one network. Nothing else is stored: the kernel shows which pod has which address.
 * (The alias of a link, which outlives all files, has Coil's format, without room for a network.)
 *
 * A line is "ADDRESS MILLISECONDS" for an address that was freed then, or "ADDRESS used". The
 * latter is for addresses that are freed while no agent runs, or by an agent that is killed before
 * it writes: an address that was in use then and is not now starts its cooldown with this agent.
 * The file is not synced: a machine that loses power has no pods left whose packets could be late.
 * The network of an interface is a line "network CONTAINER INTERFACE NAME".
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/text.h"
#include "engine/pods/pods_state.h"
#include "faults/pods.h"
#include "faults/raise.h"

enum { MEMORY_MAX = 16 << 20 };

/* "CONTAINER INTERFACE NAME" */
static int read_network(struct pods_engine *pods, char *text)
{
    struct pod_attachment attachment = { 0 };
    const char *container = strsep(&text, " "), *interface = strsep(&text, " ");
    if (!interface || !text || strlen(text) >= sizeof(attachment.network) ||
        pod_interface_name(container, interface, "default", &attachment.pod_interface) < 0)
        return -EBADMSG;
    strcpy(attachment.network, text);
    return sorted_put(&pods->networks, &attachment);
}

static int read_line(struct pods_engine *pods, char *line)
{
    struct pod_rest rest = { 0 };
    char *value = strchr(line, ' '), *end = NULL;
    if (!value)
        return -EBADMSG;
    *value++ = '\0';
    if (strcmp(line, "network") == 0)
        return read_network(pods, value);
    if (ip_parse(line, &rest.ip) < 0)
        return -EBADMSG;
    if (strcmp(value, "used") == 0)
        return sorted_put(&pods->was_used, &rest.ip);
    rest.freed_ms = strtoll(value, &end, 10);
    if (end == value || *end)
        return -EBADMSG;
    return sorted_put(&pods->addresses.rests, &rest);
}

static int read_lines(struct pods_engine *pods, char *content)
{
    char *at = content, *line;
    int failed = 0;
    while ((line = strsep(&at, "\n"))) {
        int r = *line ? read_line(pods, line) : 0;
        if (r == -ENOMEM)
            return r;
        failed = r < 0 ? r : failed;
    }
    return failed;
}

int pods_memory_load(struct pods_engine *pods)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOFREE char *content = NULL;
    size_t size;
    int r = file_read(pods->path, MEMORY_MAX, &content, &size);
    if (r == 0)
        r = read_lines(pods, content);
    if (r == -ENOMEM)
        return r;
    if (r < 0 && r != -ENOENT)
        fault_raise(&faults, pods->path, pod_memory_unreadable, .reason = strerror(-r));
    pods_report(pods, "memory", &faults);
    return 0;
}

int pods_memory_settle(struct pods_engine *pods, int64_t now_wall_ms)
{
    sorted_each(const struct ip, ip, &pods->was_used) {
        const struct pod_rest rest = { .ip = *ip, .freed_ms = now_wall_ms };
        int r =
            sorted_find(&pods->addresses.used, ip) ? 0 : sorted_put(&pods->addresses.rests, &rest);
        if (r < 0)
            return r;
    }
    sorted_clear(&pods->was_used);
    sorted_clear(&pods->networks);
    return 0;
}

const char *pods_memory_network(const struct pods_engine *pods, const struct pod_interface *key)
{
    const struct pod_attachment *known = sorted_find(&pods->networks, key);
    return known ? known->network : "";
}

static void write_lines(const struct pods_engine *pods, struct text *out)
{
    char ip[IP_STRLEN];
    sorted_each(const struct pod_rest, rest, &pods->addresses.rests)
        text_addf(out, "%s %" PRId64 "\n", ip_str(&rest->ip, ip), rest->freed_ms);
    sorted_each(const struct pod_interface, pod_interface, &pods->addresses.pod_interfaces)
        text_addf(
            out, "%s used\n",
            ip_str(pod_interface->v4.family != IP_NONE ? &pod_interface->v4 : &pod_interface->v6,
                   ip));
    sorted_each(const struct pod_attachment, attachment, &pods->attachments) {
        if (*attachment->network)
            text_addf(out, "network %s %s %s\n", attachment->pod_interface.container,
                      attachment->pod_interface.interface, attachment->network);
    }
}

static int replace_file(const char *path, const struct text *content)
{
    AUTOFREE char *temporary = text_format("%s.new", path);
    if (!temporary)
        return -ENOMEM;
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    int r = file_write(fd, text_str(content), content->length);
    close(fd);
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    return r;
}

void pods_memory_save(struct pods_engine *pods)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };
    write_lines(pods, &out);
    int r = text_error(&out);
    if (r == 0)
        r = replace_file(pods->path, &out);
    if (r < 0)
        fault_raise(&faults, pods->path, pod_memory_unwritable, .reason = strerror(-r));
    pods->unsaved = r < 0;
    pods_report(pods, "memory", &faults);
}
