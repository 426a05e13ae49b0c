// SPDX-License-Identifier: Apache-2.0
/*
 * Attaches the programs to interfaces; see hooks.h.
 *
 * A place is an interface and a direction, and has at most one program of ours. When an interface
 * changes its role, or a newer agent has newer programs, the program in the place is replaced
 * atomically: each packet meets exactly one of both. Every sync reads each place from the kernel,
 * at a few system calls per interface; the agent does not rely on its memory.
 *
 * Programs on egress are attached before those on ingress: flows that begin at an interface need
 * its egress program for their replies, and an agent may exit in between.
 *
 * To be first again, a TCX link has to be detached and created again: for some microseconds packets
 * bypass our program. So that two programs that both want to be first do not alternate forever,
 * this is done once in ten minutes for a place, and is a fault in between. The order of clsact
 * filters depends on their priority; a foreign one before ours is a fault as long as it exists.
 *
 * The agent remembers only where it has attached a program. If the kernel does not list it there
 * any more, another program removed it, and attaching it again counts as a repair. Links are opened
 * by their pins when needed and closed again, because a node has hundreds of them; tests, which pin
 * nothing, keep them open as descriptors.
 *
 * An interface that disappears during a sync is no fault: its removal causes a new list of wanted
 * attachments.
 */
#include "apply/nat/hooks/hooks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply/nat/hooks/clsact.h"
#include "apply/nat/hooks/pins.h"
#include "apply/nat/hooks/tcx.h"
#include "base/clock.h"
#include "base/macro.h"
#include "base/ours.h"
#include "base/remedy.h"
#include "base/text.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum { FRONT_AGAIN_MS = 10 * 60 * 1000 };

struct attached {
    struct nat_place place;
    int link;        /* without pins: keeps the link; else -1 */
    int64_t next_ms; /* monotonic; not moved to the front before this time */
};

struct nat_hooks {
    struct hook_programs programs;
    char *folder;    /* of the pinned links; NULL: nothing is pinned */
    int64_t pins_ns; /* time of their last known change */
    bool tcx;
    struct nl_socket *socket;
    struct sorted attached; /* struct attached: what the agent has attached, or found */
};

static int attached_cmp(const void *a, const void *b)
{
    return nat_place_cmp(&((const struct attached *)a)->place,
                         &((const struct attached *)b)->place);
}

static struct nat_place place_of(const struct nat_hooks *hooks,
                                 const struct nat_attachment *attachment)
{
    return (struct nat_place){ attachment->ifindex, nat_hook_direction(attachment->hook),
                               hooks->programs.layer };
}

static int program_of(const struct nat_hooks *hooks, const struct nat_attachment *wanted)
{
    return hooks->programs.fd(hooks->programs.context, wanted->hook, wanted->bare);
}

static uint32_t program_id_of(const struct nat_hooks *hooks, const struct nat_attachment *wanted)
{
    return hooks->programs.id(hooks->programs.context, wanted->hook, wanted->bare);
}

/* The program to run after. If it is not attached yet, there is none. */
static int leader_of(const struct nat_hooks *hooks, const struct nat_attachment *wanted)
{
    const struct hook_programs *it = &hooks->programs;
    return it->leader_fd ? it->leader_fd(it->context, wanted->hook, wanted->bare) : -1;
}

static uint32_t leader_id_of(const struct nat_hooks *hooks, const struct nat_attachment *wanted)
{
    const struct hook_programs *it = &hooks->programs;
    return wanted && it->leader_id ? it->leader_id(it->context, wanted->hook, wanted->bare) : 0;
}

/* ---- one place ---- */

/* Returns the descriptor of a place's link, which the caller closes, or -errno. */
static int open_link(const struct nat_hooks *hooks, const struct attached *attached)
{
    if (hooks->folder)
        return nat_pin_open(hooks->folder, &attached->place);
    int link = fcntl(attached->link, F_DUPFD_CLOEXEC, 0);
    return link < 0 ? -errno : link;
}

/* Reads a place from the kernel. `wanted`: NULL if only the program counts. */
static struct nat_place_state look_at(const struct nat_hooks *hooks,
                                      const struct attached *attached,
                                      const struct nat_attachment *wanted)
{
    struct nat_place_state state = { 0 };
    if (!hooks->tcx) {
        (void)clsact_look(hooks->socket, &attached->place, &state);
        return state;
    }
    AUTOCLOSE int link = open_link(hooks, attached);
    if (link >= 0)
        tcx_look(link, &attached->place, leader_id_of(hooks, wanted), &state);
    return state;
}

static void forget(struct nat_hooks *hooks, const struct attached *attached)
{
    const struct attached gone = *attached;
    if (hooks->folder)
        nat_pin_remove(hooks->folder, &gone.place);
    if (gone.link >= 0)
        (void)close(gone.link);
    sorted_remove(&hooks->attached, &gone);
}

/*
 * When another program removes the pin of a link, the kernel frees the link some time later, and
 * until then refuses to attach the same program again (EEXIST). That is a fault, which the next
 * sync ends.
 */
static int attach_link(struct nat_hooks *hooks, struct attached *attached, int program, int leader)
{
    AUTOCLOSE int link = -1;
    int r = tcx_attach(&attached->place, program, leader, &link);
    if (r == -ENOENT && leader >= 0) /* it is not attached here */
        r = tcx_attach(&attached->place, program, -1, &link);
    if (r < 0)
        return r;
    if (hooks->folder)
        return nat_pin_link(hooks->folder, &attached->place, link);
    attached->link = TAKE_FD(link);
    return 0;
}

static int attach(struct nat_hooks *hooks, const struct nat_attachment *wanted,
                  char text[static 96])
{
    struct attached attached = { .place = place_of(hooks, wanted), .link = -1 };
    int program = program_of(hooks, wanted);
    if (program < 0)
        return program;
    int r = hooks->tcx ? attach_link(hooks, &attached, program, leader_of(hooks, wanted))
                       : clsact_attach(hooks->socket, &attached.place, program, text);
    return r < 0 ? r : sorted_put(&hooks->attached, &attached);
}

static int swap(struct nat_hooks *hooks, const struct attached *attached,
                const struct nat_attachment *wanted, char text[static 96])
{
    int program = program_of(hooks, wanted);
    if (program < 0)
        return program;
    if (!hooks->tcx)
        return clsact_attach(hooks->socket, &attached->place, program, text);
    AUTOCLOSE int link = open_link(hooks, attached);
    return link < 0 ? link : tcx_swap(link, program);
}

static int detach(struct nat_hooks *hooks, const struct attached *attached)
{
    if (!hooks->tcx)
        return clsact_detach(hooks->socket, &attached->place);
    AUTOCLOSE int link = open_link(hooks, attached);
    return link < 0 ? link : tcx_detach(link);
}

/* ---- all places ---- */

static void refused(struct faults *faults, const struct nat_attachment *wanted, int error,
                    const char *text)
{
    AUTOFREE char *place = text_format("interface %s", wanted->name);
    fault_raise(faults, place, nat_attach_refused,
                .direction = nat_direction_name(nat_hook_direction(wanted->hook)),
                .reason = strerror(-error), .detail = text,
                .remedy = error == -EPERM ? "agentd needs CAP_BPF and CAP_NET_ADMIN"
                                          : remedy_for_kernel(error));
}

static void overtaken(struct faults *faults, const struct nat_attachment *wanted, bool tcx,
                      const char *before)
{
    AUTOFREE char *place = text_format("interface %s", wanted->name);
    const char *direction = nat_direction_name(nat_hook_direction(wanted->hook));
    if (tcx)
        fault_raise(faults, place, nat_overtaken_tcx, .direction = direction, .program = before);
    else
        fault_raise(faults, place, nat_overtaken_filter, .direction = direction, .program = before,
                    .priority = OURS_TC_PRIORITY);
}

/* Creates our link again, before all others. Returns 0 or -errno. */
static int go_first(struct nat_hooks *hooks, const struct attached *attached,
                    const struct nat_attachment *wanted, char text[static 96])
{
    struct attached key = { .place = attached->place };
    int r = detach(hooks, attached);
    if (r < 0)
        return r;
    forget(hooks, attached);
    r = attach(hooks, wanted, text);
    if (r < 0)
        return r;
    struct attached *fresh = sorted_find(&hooks->attached, &key);
    fresh->next_ms = clock_mono_ms() + FRONT_AGAIN_MS;
    return 0;
}

/* Ours is attached after a foreign program. Returns 1 if it was moved to the front, 0, -errno. */
static int ensure_first(struct nat_hooks *hooks, const struct attached *attached,
                        const struct nat_attachment *wanted, const char *before,
                        struct faults *faults, char text[static 96])
{
    if (!hooks->tcx || clock_mono_ms() < attached->next_ms) {
        overtaken(faults, wanted, hooks->tcx, before);
        return 0;
    }
    int r = go_first(hooks, attached, wanted, text);
    return r < 0 ? r : 1;
}

/* Attaches or replaces one program. Returns 1, 0 if it was attached already, or -errno. */
static int ensure(struct nat_hooks *hooks, const struct nat_attachment *wanted, uint32_t *repairs,
                  struct faults *faults, char text[static 96])
{
    const struct attached key = { .place = place_of(hooks, wanted) };
    const struct attached *attached = sorted_find(&hooks->attached, &key);
    const struct nat_place_state state =
        attached ? look_at(hooks, attached, wanted) : (struct nat_place_state){ .program = 0 };
    bool gone = attached && state.program == 0;
    bool right = state.program == program_id_of(hooks, wanted);
    int r;
    if (state.program && right)
        return state.behind ? ensure_first(hooks, attached, wanted, state.before, faults, text) : 0;
    if (state.program) {
        r = swap(hooks, attached, wanted, text);
    } else {
        if (gone)
            forget(hooks, attached);
        r = attach(hooks, wanted, text);
    }
    if (r < 0)
        return r;
    *repairs += gone;
    return 1;
}

/* `wanted` is sorted by interface, of which each has a few entries at most. */
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

/* Returns how many programs were detached, or -errno. Those gone with their interface don't count.
 */
static int detach_unwanted(struct nat_hooks *hooks, const struct nat_attachment *wanted,
                           size_t count)
{
    int changes = 0;
    for (size_t i = hooks->attached.count; i > 0; i--) {
        const struct attached *attached = sorted_at(&hooks->attached, i - 1);
        if (is_wanted(&attached->place, wanted, count))
            continue;
        if (look_at(hooks, attached, NULL).program) {
            int r = detach(hooks, attached);
            if (r < 0 && r != -ENODEV)
                return r;
            changes += r == 0;
        }
        forget(hooks, attached);
    }
    return changes;
}

/* Attaches what is wanted in one direction. Returns how many programs it attached, or -ENOMEM. */
static int ensure_all(struct nat_hooks *hooks, enum nat_direction direction,
                      const struct nat_attachment *wanted, size_t count, uint32_t *repairs,
                      struct faults *faults)
{
    int changes = 0;
    for (size_t i = 0; i < count; i++) {
        char text[96] = "";
        if (nat_hook_direction(wanted[i].hook) != direction)
            continue;
        int r = ensure(hooks, &wanted[i], repairs, faults, text);
        if (r == -ENOMEM)
            return r;
        if (r < 0 && r != -ENODEV)
            refused(faults, &wanted[i], r, text);
        changes += r > 0;
    }
    return changes;
}

int nat_hooks_sync(struct nat_hooks *hooks, const struct nat_attachment *wanted, size_t count,
                   uint32_t *ret_repairs, struct faults *faults)
{
    uint32_t repairs = 0;
    int out = ensure_all(hooks, NAT_EGRESS, wanted, count, &repairs, faults);
    int in = out < 0 ? out : ensure_all(hooks, NAT_INGRESS, wanted, count, &repairs, faults);
    int r = in < 0 ? in : detach_unwanted(hooks, wanted, count);
    if (r < 0)
        return r;
    *ret_repairs = repairs;
    return out + in + r;
}

static enum nat_rank rank_of(struct nat_hooks *hooks, const struct nat_attachment *wanted)
{
    const struct attached key = { .place = place_of(hooks, wanted) };
    const struct attached *attached = sorted_find(&hooks->attached, &key);
    if (!attached)
        return NAT_RANK_NONE;
    const struct nat_place_state state = look_at(hooks, attached, wanted);
    if (state.program == 0 || state.program != program_id_of(hooks, wanted))
        return NAT_RANK_NONE;
    return state.behind ? NAT_RANK_BEHIND : NAT_RANK_FIRST;
}

/* An interface that is gone has no packets that our program could miss. */
static bool is_gone(uint32_t ifindex)
{
    char name[IF_NAMESIZE];
    return !if_indextoname(ifindex, name) && errno == ENXIO;
}

enum nat_rank nat_hooks_rank(struct nat_hooks *hooks, const struct nat_attachment *wanted,
                             size_t count)
{
    enum nat_rank worst = NAT_RANK_FIRST;
    for (size_t i = 0; i < count && worst != NAT_RANK_NONE; i++) {
        enum nat_rank rank = rank_of(hooks, &wanted[i]);
        if (rank != NAT_RANK_NONE || !is_gone(wanted[i].ifindex))
            worst = MIN(worst, rank);
    }
    return worst;
}

bool nat_hooks_attached(struct nat_hooks *hooks, const struct nat_attachment *wanted, size_t count)
{
    return nat_hooks_rank(hooks, wanted, count) != NAT_RANK_NONE;
}

const char *nat_hooks_method(const struct nat_hooks *hooks)
{
    return hooks->tcx ? "tcx" : "clsact";
}

bool nat_hooks_pins_moved(struct nat_hooks *hooks)
{
    int64_t before_ns = hooks->pins_ns;
    hooks->pins_ns = hooks->folder ? nat_pins_changed_ns(hooks->folder) : 0;
    return hooks->pins_ns != before_ns;
}

/* Places that may have a program of ours. */
static int find_places(struct nat_hooks *hooks, nat_place_list *places)
{
    if (!hooks->tcx)
        return clsact_find(hooks->socket, hooks->programs.layer, places);
    return hooks->folder ? nat_pins_list(hooks->folder, places) : 0;
}

/*
 * Finds the attachments of an earlier agent. A pin without a live link is left from an interface
 * that was deleted while no agent ran; it is removed.
 */
static int adopt(struct nat_hooks *hooks)
{
    AUTOVEC nat_place_list places = { 0 };
    int r = find_places(hooks, &places);
    if (r < 0)
        return r;
    vec_each(const struct nat_place, place, &places) {
        const struct attached attached = {
            .place = { place->ifindex, place->direction, hooks->programs.layer },
            .link = -1,
        };
        if (look_at(hooks, &attached, NULL).program) {
            r = sorted_put(&hooks->attached, &attached);
            if (r < 0)
                return r;
        } else if (hooks->folder) {
            nat_pin_remove(hooks->folder, place);
        }
    }
    return 0;
}

static int open_hooks(bool tcx, const struct hook_programs *programs, const char *pins,
                      struct nat_hooks **ret_hooks)
{
    CLEANUP(nat_hooks_closep) struct nat_hooks *hooks = calloc(1, sizeof(*hooks));
    if (!hooks)
        return -ENOMEM;
    *hooks = (struct nat_hooks){
        .programs = *programs,
        .tcx = tcx,
        .folder = pins ? text_format("%s/%s", pins, nat_layer_folder(programs->layer)) : NULL,
        .attached = SORTED(struct attached, attached_cmp),
    };
    if (pins && !hooks->folder)
        return -ENOMEM;
    int r = nl_open(&hooks->socket);
    if (r < 0)
        return r;
    r = adopt(hooks);
    if (r < 0)
        return r;
    *ret_hooks = TAKE_PTR(hooks);
    return 0;
}

static int datapath_fd(void *context, enum nat_hook hook, bool bare)
{
    return nat_datapath_program(context, hook, bare);
}

static uint32_t datapath_id(void *context, enum nat_hook hook, bool bare)
{
    return nat_datapath_program_id(context, hook, bare);
}

int nat_hooks_open_by(bool tcx, struct nat_datapath *datapath, const char *pins,
                      struct nat_hooks **ret_hooks)
{
    const struct hook_programs programs = {
        .layer = NAT_LAYER_SERVICES,
        .context = datapath,
        .fd = datapath_fd,
        .id = datapath_id,
    };
    return open_hooks(tcx, &programs, pins, ret_hooks);
}

int nat_hooks_open_for(const struct hook_programs *programs, const char *pins,
                       struct nat_hooks **ret_hooks)
{
    return open_hooks(tcx_supported(), programs, pins, ret_hooks);
}

int nat_hooks_open(struct nat_datapath *datapath, const char *pins, struct nat_hooks **ret_hooks)
{
    return nat_hooks_open_by(tcx_supported(), datapath, pins, ret_hooks);
}

void nat_hooks_close(struct nat_hooks *hooks)
{
    if (!hooks)
        return;
    sorted_each(const struct attached, attached, &hooks->attached) {
        if (attached->link >= 0)
            (void)close(attached->link);
    }
    sorted_done(&hooks->attached);
    nl_close(hooks->socket);
    free(hooks->folder);
    free(hooks);
}
