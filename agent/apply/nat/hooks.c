// SPDX-License-Identifier: Apache-2.0
/*
 * What stands on the interfaces, and the hand that makes it be what is wanted; see hooks.h.
 *
 * A place is an interface and a direction, and holds one program of ours. When an interface changes
 * its role, or the agent comes with newer programs, the program in its place is swapped, so that no
 * packet passes by and none is seen by two. The kernel is asked about each place on every sync:
 * a few system calls per interface, and no memory that could be wrong.
 *
 * What is remembered is only where we had something standing: where that is gone, somebody took it
 * away, and putting it back is a repair. Links are opened by their pins when needed and closed
 * again (a node has hundreds of them); without a folder for pins (tests) they live as descriptors.
 *
 * An interface that is gone when we come to it is no fault: the next list of wanted ones is on its
 * way.
 */
#include "apply/nat/hooks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply/nat/clsact.h"
#include "apply/nat/pins.h"
#include "apply/nat/tcx.h"
#include "base/macro.h"
#include "base/text.h"

struct standing {
    struct nat_place place;
    int link; /* without pins: keeps the link; else -1 */
};

struct nat_hooks {
    struct nat_plane *plane;
    char *folder; /* of the pinned links; NULL: nothing is pinned */
    bool tcx;
    struct nl_socket *socket;
    struct sorted standing; /* struct standing: ours, as far as we know */
};

static int standing_cmp(const void *a, const void *b)
{
    return nat_place_cmp(&((const struct standing *)a)->place,
                         &((const struct standing *)b)->place);
}

static struct nat_place place_of(const struct nat_attachment *attachment)
{
    return (struct nat_place){ attachment->ifindex, nat_hook_direction(attachment->hook) };
}

/* ---- one place ---- */

/* The link of a place, which the caller closes; -errno: none. */
static int open_link(const struct nat_hooks *hooks, const struct standing *standing)
{
    if (hooks->folder)
        return nat_pin_open(hooks->folder, &standing->place);
    int link = fcntl(standing->link, F_DUPFD_CLOEXEC, 0);
    return link < 0 ? -errno : link;
}

/* The id of our program in a place, as the kernel has it now; 0: none. */
static uint32_t program_in(const struct nat_hooks *hooks, const struct standing *standing)
{
    uint32_t id = 0;
    if (!hooks->tcx)
        return clsact_program(hooks->socket, &standing->place, &id) < 0 ? 0 : id;
    AUTOCLOSE int link = open_link(hooks, standing);
    return link < 0 ? 0 : tcx_program(link, &standing->place);
}

static void forget(struct nat_hooks *hooks, const struct standing *standing)
{
    const struct standing gone = *standing;
    if (hooks->folder)
        nat_pin_remove(hooks->folder, &gone.place);
    if (gone.link >= 0)
        (void)close(gone.link);
    sorted_remove(&hooks->standing, &gone);
}

/*
 * Whose pin somebody has just removed, the kernel frees in its own time, and refuses the program a
 * second time until then (EEXIST): a fault that the next sync ends.
 */
static int attach_link(struct nat_hooks *hooks, struct standing *standing, int program)
{
    AUTOCLOSE int link = -1;
    int r = tcx_attach(&standing->place, program, &link);
    if (r == 0 && hooks->folder)
        r = nat_pin_link(hooks->folder, &standing->place, link);
    if (r == 0 && !hooks->folder)
        standing->link = TAKE_FD(link);
    return r;
}

static int attach(struct nat_hooks *hooks, const struct nat_attachment *wanted,
                  char text[static 96])
{
    struct standing standing = { .place = place_of(wanted), .link = -1 };
    int program = nat_plane_program(hooks->plane, wanted->hook);
    int r = hooks->tcx ? attach_link(hooks, &standing, program)
                       : clsact_attach(hooks->socket, &standing.place, program, text);
    return r < 0 ? r : sorted_put(&hooks->standing, &standing);
}

static int swap(struct nat_hooks *hooks, const struct standing *standing,
                const struct nat_attachment *wanted, char text[static 96])
{
    int program = nat_plane_program(hooks->plane, wanted->hook);
    if (!hooks->tcx)
        return clsact_attach(hooks->socket, &standing->place, program, text);
    AUTOCLOSE int link = open_link(hooks, standing);
    return link < 0 ? link : tcx_swap(link, program);
}

static int detach(struct nat_hooks *hooks, const struct standing *standing)
{
    if (!hooks->tcx)
        return clsact_detach(hooks->socket, &standing->place);
    AUTOCLOSE int link = open_link(hooks, standing);
    return link < 0 ? link : tcx_detach(link);
}

/* ---- all of them ---- */

static void refused(struct faults *faults, const struct nat_attachment *wanted, int error,
                    const char *text)
{
    AUTOFREE char *place = text_format("interface %s", wanted->name);
    faults_add(faults, place ? place : "interface",
               error == -EPERM ? "agentd needs CAP_BPF and CAP_NET_ADMIN" : NULL,
               "NAT can't be attached to its %s: %s%s%s%s",
               nat_direction_name(nat_hook_direction(wanted->hook)), strerror(-error),
               *text ? " (" : "", text, *text ? ")" : "");
}

/* Makes one attachment stand. Returns 1 if something was to be done, 0, or -errno. */
static int make_stand(struct nat_hooks *hooks, const struct nat_attachment *wanted,
                      uint32_t *repairs, char text[static 96])
{
    const struct standing key = { .place = place_of(wanted) };
    const struct standing *standing = sorted_find(&hooks->standing, &key);
    uint32_t program = standing ? program_in(hooks, standing) : 0;
    bool gone = standing && program == 0;
    int r;
    if (program && program == nat_plane_program_id(hooks->plane, wanted->hook))
        return 0;
    if (program) {
        r = swap(hooks, standing, wanted, text);
    } else {
        if (gone)
            forget(hooks, standing);
        r = attach(hooks, wanted, text);
    }
    if (r < 0)
        return r;
    *repairs += gone;
    return 1;
}

/* `wanted` is in order of interface; each has a few entries at most. */
static bool is_wanted(const struct nat_place *place, const struct nat_attachment *wanted,
                      size_t count)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (wanted[middle].ifindex < place->ifindex)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && wanted[low].ifindex == place->ifindex; low++) {
        if (nat_hook_direction(wanted[low].hook) == place->direction)
            return true;
    }
    return false;
}

/* Returns the number of programs that were taken away. What is gone with its interface is none. */
static int detach_unwanted(struct nat_hooks *hooks, const struct nat_attachment *wanted,
                           size_t count)
{
    int changes = 0;
    for (size_t i = hooks->standing.count; i > 0; i--) {
        const struct standing *standing = sorted_at(&hooks->standing, i - 1);
        if (is_wanted(&standing->place, wanted, count))
            continue;
        if (program_in(hooks, standing)) {
            int r = detach(hooks, standing);
            if (r < 0 && r != -ENODEV)
                return r;
            changes += r == 0;
        }
        forget(hooks, standing);
    }
    return changes;
}

int nat_hooks_sync(struct nat_hooks *hooks, const struct nat_attachment *wanted, size_t count,
                   uint32_t *ret_repairs, struct faults *faults)
{
    uint32_t repairs = 0;
    int changes = 0;
    for (size_t i = 0; i < count; i++) {
        char text[96] = "";
        int r = make_stand(hooks, &wanted[i], &repairs, text);
        if (r == -ENOMEM)
            return r;
        if (r < 0 && r != -ENODEV)
            refused(faults, &wanted[i], r, text);
        changes += r > 0;
    }
    int r = detach_unwanted(hooks, wanted, count);
    if (r < 0)
        return r;
    *ret_repairs = repairs;
    return changes + r;
}

bool nat_hooks_attached(struct nat_hooks *hooks, const struct nat_attachment *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct standing key = { .place = place_of(&wanted[i]) };
        const struct standing *standing = sorted_find(&hooks->standing, &key);
        uint32_t program = standing ? program_in(hooks, standing) : 0;
        if (program == 0 || program != nat_plane_program_id(hooks->plane, wanted[i].hook))
            return false;
    }
    return true;
}

const char *nat_hooks_method(const struct nat_hooks *hooks)
{
    return hooks->tcx ? "tcx" : "clsact";
}

/* Pins without a living link here are litter: of interfaces that went while nobody looked. */
static int adopt(struct nat_hooks *hooks)
{
    nat_place_list places = { 0 };
    int r = 0;
    if (!hooks->tcx)
        r = clsact_find(hooks->socket, &places);
    else if (hooks->folder)
        r = nat_pins_list(hooks->folder, &places);
    vec_each(const struct nat_place, place, &places) {
        const struct standing standing = { .place = *place, .link = -1 };
        if (r == 0 && program_in(hooks, &standing))
            r = sorted_put(&hooks->standing, &standing);
        else if (r == 0 && hooks->folder)
            nat_pin_remove(hooks->folder, place);
    }
    vec_done(&places);
    return r;
}

int nat_hooks_open_by(bool tcx, struct nat_plane *plane, const char *pins,
                      struct nat_hooks **ret_hooks)
{
    CLEANUP(nat_hooks_closep) struct nat_hooks *hooks = calloc(1, sizeof(*hooks));
    if (!hooks)
        return -ENOMEM;
    *hooks = (struct nat_hooks){
        .plane = plane,
        .tcx = tcx,
        .folder = pins ? text_format("%s/links", pins) : NULL,
        .standing = SORTED(struct standing, standing_cmp),
    };
    if (pins && !hooks->folder)
        return -ENOMEM;
    int r = nl_open(&hooks->socket);
    if (r == 0)
        r = adopt(hooks);
    if (r < 0)
        return r;
    *ret_hooks = TAKE_PTR(hooks);
    return 0;
}

int nat_hooks_open(struct nat_plane *plane, const char *pins, struct nat_hooks **ret_hooks)
{
    return nat_hooks_open_by(tcx_supported(), plane, pins, ret_hooks);
}

void nat_hooks_close(struct nat_hooks *hooks)
{
    if (!hooks)
        return;
    sorted_each(const struct standing, standing, &hooks->standing) {
        if (standing->link >= 0)
            (void)close(standing->link);
    }
    sorted_done(&hooks->standing);
    nl_close(hooks->socket);
    free(hooks->folder);
    free(hooks);
}
