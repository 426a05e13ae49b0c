// SPDX-License-Identifier: Apache-2.0
/*
 * Attaching, by both methods: what is wanted stands, what was removed comes back, what is foreign
 * stays, and a restart takes over what it finds. Each test has namespaces of its own for network
 * and mounts, and a bpf file system of its own.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "apply/nat/hooks/clsact.h"
#include "apply/nat/hooks/hooks.h"
#include "apply/nat/hooks/pins.h"
#include "apply/nat/hooks/tcx.h"
#include "base/macro.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "raised.h"

static const struct nat_datapath_options small = { .max_flows = 1024,
                                                   .max_services = 64,
                                                   .max_endpoints = 256 };

static struct nat_datapath *datapaths[2]; /* two versions of the programs */

struct lab {
    bool tcx;
    char folder[32];
    struct nat_hooks *hooks;
    struct nat_attachment wanted[4]; /* of eth0 and veth0 */
    uint32_t repairs;
    struct faults faults;
};

#define run(command) assert_int_equal(system(command), 0)

static struct nat_attachment attachment(const char *name, enum nat_hook hook)
{
    struct nat_attachment result = { .ifindex = if_nametoindex(name), .hook = hook };
    snprintf(result.name, sizeof(result.name), "%s", name);
    return result;
}

static void open_with(struct lab *lab, struct nat_datapath *datapath)
{
    nat_hooks_close(lab->hooks);
    lab->hooks = NULL;
    assert_int_equal(nat_hooks_open_by(lab->tcx, datapath, lab->folder, &lab->hooks), 0);
}

static int lab_open(void **state, bool tcx)
{
    struct lab *lab = calloc(1, sizeof(*lab));
    if (!lab || unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return -1;
    lab->tcx = tcx;
    snprintf(lab->folder, sizeof(lab->folder), "/tmp/nat_hooks.XXXXXX");
    if (!mkdtemp(lab->folder) || mount("bpf", lab->folder, "bpf", 0, NULL) < 0 ||
        system("ip link set lo up && ip link add eth0 type veth peer name eth0p && "
               "ip link add veth0 type veth peer name pod0 && ip link set eth0 up"))
        return -1;
    static const enum nat_hook hooks[] = { NAT_HOOK_UPLINK_IN, NAT_HOOK_UPLINK_OUT, NAT_HOOK_POD_IN,
                                           NAT_HOOK_POD_OUT };
    for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
        lab->wanted[i] = attachment(i < 2 ? "eth0" : "veth0", hooks[i]);
    if (lab->wanted[0].ifindex > lab->wanted[2].ifindex)
        return -1;
    open_with(lab, datapaths[0]);
    *state = lab;
    return 0;
}

static int lab_open_tcx(void **state)
{
    return lab_open(state, true);
}

static int lab_open_clsact(void **state)
{
    return lab_open(state, false);
}

static int lab_close(void **state)
{
    struct lab *lab = *state;
    nat_hooks_close(lab->hooks);
    faults_done(&lab->faults);
    bool gone = umount(lab->folder) == 0 && rmdir(lab->folder) == 0;
    free(lab);
    return gone ? 0 : -1;
}

/* Syncs to the first `count` wanted; returns the number of changes. */
static int sync_to(struct lab *lab, size_t count)
{
    return nat_hooks_sync(lab->hooks, lab->wanted, count, &lab->repairs, &lab->faults);
}

static void assert_stands(struct lab *lab, size_t count)
{
    assert_true(nat_hooks_attached(lab->hooks, lab->wanted, count));
    assert_int_equal(sync_to(lab, count), 0);
    assert_int_equal(lab->repairs, 0);
    assert_true(faults_none(&lab->faults));
}

static char *pin(const struct lab *lab, const struct nat_attachment *of)
{
    return text_format("%s/links/%u-%s", lab->folder, of->ifindex,
                       nat_hook_direction(of->hook) == NAT_INGRESS ? "ingress" : "egress");
}

static bool is_pinned(const struct lab *lab, const struct nat_attachment *of)
{
    AUTOFREE char *path = pin(lab, of);
    return access(path, F_OK) == 0;
}

static bool has_clsact(const char *name)
{
    AUTOFREE char *command = text_format("tc qdisc show dev %s | grep -q clsact", name);
    return system(command) == 0;
}

static void what_is_wanted_stands(void **state)
{
    struct lab *lab = *state;
    assert_string_equal(nat_hooks_method(lab->hooks), lab->tcx ? "tcx" : "clsact");
    assert_false(nat_hooks_attached(lab->hooks, lab->wanted, 1));
    assert_true(nat_hooks_attached(lab->hooks, lab->wanted, 0));
    assert_int_equal(sync_to(lab, 4), 4);
    assert_int_equal(lab->repairs, 0);
    assert_stands(lab, 4);
    assert_int_equal(is_pinned(lab, &lab->wanted[0]), lab->tcx);
    assert_int_equal(has_clsact("veth0"), !lab->tcx);

    assert_int_equal(sync_to(lab, 1), 3);
    assert_stands(lab, 1);
    assert_false(nat_hooks_attached(lab->hooks, lab->wanted, 2));
    assert_int_equal(has_clsact("eth0"), !lab->tcx);
    assert_false(has_clsact("veth0"));
    assert_false(is_pinned(lab, &lab->wanted[3]));
    assert_int_equal(sync_to(lab, 0), 1);
    assert_false(has_clsact("eth0"));
}

static void a_restart_takes_over(void **state)
{
    struct lab *lab = *state;
    assert_int_equal(sync_to(lab, 4), 4);
    open_with(lab, datapaths[0]);
    assert_stands(lab, 4);

    /* Other programs are swapped in, in place. */
    open_with(lab, datapaths[1]);
    assert_false(nat_hooks_attached(lab->hooks, lab->wanted, 4));
    assert_int_equal(sync_to(lab, 4), 4);
    assert_stands(lab, 4);
    open_with(lab, datapaths[0]);
    assert_int_equal(sync_to(lab, 2), 4); /* two swapped, two taken away */
    assert_stands(lab, 2);
    assert_false(nat_hooks_attached(lab->hooks, lab->wanted, 3));
}

static void take_away(const struct lab *lab, const struct nat_attachment *of)
{
    AUTOFREE char *path = pin(lab, of);
    AUTOFREE char *command =
        text_format("tc filter del dev %s %s", of->name,
                    nat_hook_direction(of->hook) == NAT_INGRESS ? "ingress" : "egress");
    if (lab->tcx) {
        AUTOCLOSE int link = bpf_obj_get(path);
        assert_int_equal(bpf_link_detach(link), 0);
    } else {
        run(command);
    }
}

/* How many TCX programs there are on an interface's hook. */
static uint32_t programs_on(const struct nat_attachment *of)
{
    uint32_t count = 0;
    int type = nat_hook_direction(of->hook) == NAT_INGRESS ? 46 : 47;
    assert_int_equal(
        bpf_prog_query((int)of->ifindex, (enum bpf_attach_type)type, 0, NULL, NULL, &count), 0);
    return count;
}

static void what_was_removed_comes_back(void **state)
{
    struct lab *lab = *state;
    assert_int_equal(sync_to(lab, 4), 4);
    take_away(lab, &lab->wanted[0]);
    assert_false(nat_hooks_attached(lab->hooks, lab->wanted, 4));
    assert_int_equal(sync_to(lab, 4), 1);
    assert_int_equal(lab->repairs, 1);
    assert_stands(lab, 4);

    take_away(lab, &lab->wanted[2]);
    if (lab->tcx) {
        AUTOFREE char *path = pin(lab, &lab->wanted[3]);
        assert_int_equal(unlink(path), 0); /* the last reference to the link */
        while (programs_on(&lab->wanted[3]) > 0)
            ;
    } else {
        run("tc qdisc del dev veth0 clsact");
    }
    assert_int_equal(sync_to(lab, 4), 2);
    assert_int_equal(lab->repairs, 2);
    assert_stands(lab, 4);
}

static void an_interface_changes_its_role(void **state)
{
    struct lab *lab = *state;
    assert_int_equal(sync_to(lab, 2), 2);
    lab->wanted[0].hook = NAT_HOOK_POD_IN;
    lab->wanted[1].hook = NAT_HOOK_POD_OUT;
    assert_false(nat_hooks_attached(lab->hooks, lab->wanted, 2));
    assert_int_equal(sync_to(lab, 2), 2);
    assert_int_equal(lab->repairs, 0);
    assert_stands(lab, 2);
}

/* An index may go to another interface: what was pinned or remembered says nothing of that one. */
static void an_interface_goes_and_another_comes(void **state)
{
    struct lab *lab = *state;
    assert_int_equal(sync_to(lab, 4), 4);
    AUTOFREE char *again = text_format("ip link del veth0 && ip link add veth7 index %u type veth "
                                       "peer name pod7",
                                       lab->wanted[2].ifindex);
    run(again);
    assert_false(nat_hooks_attached(lab->hooks, lab->wanted, 4));
    assert_int_equal(sync_to(lab, 4), 2);
    assert_stands(lab, 4);

    /* What is not there lacks nothing, though it is wanted until the kernel's word is read. */
    run("ip link del veth7");
    assert_int_equal(nat_hooks_rank(lab->hooks, lab->wanted, 4), NAT_RANK_FIRST);
    assert_int_equal(sync_to(lab, 4), 0);
    assert_true(faults_none(&lab->faults));
    assert_int_equal(nat_hooks_rank(lab->hooks, lab->wanted, 4), NAT_RANK_FIRST);
    assert_int_equal(sync_to(lab, 2), 0);
    assert_false(is_pinned(lab, &lab->wanted[2]));

    /* While nobody looked: the pins are litter. */
    run("ip link del eth0");
    open_with(lab, datapaths[0]);
    assert_int_equal(sync_to(lab, 0), 0);
    assert_false(is_pinned(lab, &lab->wanted[0]));
}

static void all_of_ours_can_be_removed(void **state)
{
    struct lab *lab = *state;
    assert_int_equal(nat_hooks_remove_all(lab->folder), 0);
    assert_int_equal(sync_to(lab, 4), 4);
    assert_int_equal(nat_hooks_remove_all(lab->folder), 4);
    assert_false(nat_hooks_attached(lab->hooks, lab->wanted, 1));
    assert_false(has_clsact("eth0") || has_clsact("veth0"));
    AUTOFREE char *links = text_format("%s/links", lab->folder);
    assert_int_not_equal(access(links, F_OK), 0);
    assert_int_equal(nat_hooks_remove_all(lab->folder), 0);
    assert_int_equal(nat_hooks_remove_all("/nowhere/at/all"), 0);
}

static void without_pins_links_live_with_the_process(void **state)
{
    struct lab *lab = *state;
    struct nat_hooks *hooks;
    assert_int_equal(nat_hooks_open(datapaths[0], NULL, &hooks), 0);
    assert_string_equal(nat_hooks_method(hooks), "tcx");
    assert_int_equal(nat_hooks_sync(hooks, lab->wanted, 4, &lab->repairs, &lab->faults), 4);
    assert_true(nat_hooks_attached(hooks, lab->wanted, 4));
    assert_int_equal(nat_hooks_sync(hooks, lab->wanted, 3, &lab->repairs, &lab->faults), 1);
    assert_true(nat_hooks_attached(hooks, lab->wanted, 3));
    nat_hooks_close(hooks);
    while (programs_on(&lab->wanted[0]) > 0) /* the kernel frees links in its own time */
        ;
}

static void foreign_links_stay(void **state)
{
    struct lab *lab = *state;
    const struct nat_place place = { lab->wanted[0].ifindex, NAT_INGRESS };
    AUTOCLOSE int foreign = -1;
    assert_int_equal(tcx_attach(&place, nat_datapath_program(datapaths[1], NAT_HOOK_LO_OUT, false),
                                -1, &foreign),
                     0);
    assert_int_equal(sync_to(lab, 4), 4);
    assert_stands(lab, 4);
    assert_int_equal(nat_hooks_remove_all(lab->folder), 4);
    assert_int_equal(tcx_program(foreign, &place),
                     nat_datapath_program_id(datapaths[1], NAT_HOOK_LO_OUT, false));
}

static void assert_fault(struct lab *lab, const char *code, const char *place, const char *words)
{
    assert_int_equal(lab->faults.list.count, 1);
    assert_string_equal(code_of(lab->faults.list.items), code);
    assert_string_equal(lab->faults.list.items[0].place, place);
    if (!strstr(lab->faults.list.items[0].message, words))
        fail_msg("%s", lab->faults.list.items[0].message);
    faults_done(&lab->faults);
    lab->faults = (struct faults){ 0 };
}

static void ours_goes_in_front_once(void **state)
{
    struct lab *lab = *state;
    const struct nat_place place = { lab->wanted[0].ifindex, NAT_INGRESS };
    const int program = nat_datapath_program(datapaths[1], NAT_HOOK_LO_OUT, false);
    AUTOFREE char *told =
        text_format("program %u (lo_out) is attached to its ingress before NAT",
                    nat_datapath_program_id(datapaths[1], NAT_HOOK_LO_OUT, false));
    AUTOCLOSE int foreign = -1;

    assert_int_equal(tcx_attach(&place, program, -1, &foreign), 0);
    assert_int_equal(sync_to(lab, 4), 4);
    assert_int_equal(nat_hooks_rank(lab->hooks, lab->wanted, 4), NAT_RANK_FIRST);
    for (int times = 0; times < 2; times++) { /* it comes before us again */
        assert_int_equal(tcx_detach(foreign), 0);
        close(foreign);
        assert_int_equal(tcx_attach(&place, program, -1, &foreign), 0);
        assert_int_equal(nat_hooks_rank(lab->hooks, lab->wanted, 4), NAT_RANK_BEHIND);
        assert_true(nat_hooks_attached(lab->hooks, lab->wanted, 4));
        assert_int_equal(sync_to(lab, 4), times ? 0 : 1);
        assert_int_equal(lab->repairs, 0);
        if (times == 0)
            assert_stands(lab, 4);
    }
    assert_fault(lab, "nat-overtaken-tcx", "interface eth0", told);
    assert_int_equal(programs_on(&lab->wanted[0]), 2);

    assert_int_equal(tcx_detach(foreign), 0);
    assert_stands(lab, 4);
    assert_int_equal(nat_hooks_rank(lab->hooks, lab->wanted, 4), NAT_RANK_FIRST);
}

static const char foreign_filter[] =
    "tc filter add dev eth0 %s pref %d handle %d protocol all bpf object-pinned %s/foreign "
    "direct-action";

static void add_foreign(const struct lab *lab, const char *direction, int priority, int handle)
{
    AUTOFREE char *pinned = text_format("%s/foreign", lab->folder);
    AUTOFREE char *command = text_format(foreign_filter, direction, priority, handle, lab->folder);
    (void)bpf_obj_pin(nat_datapath_program(datapaths[1], NAT_HOOK_LO_OUT, false), pinned);
    run(command);
}

static void foreign_filters_stay(void **state)
{
    struct lab *lab = *state;
    run("tc qdisc add dev eth0 clsact");
    add_foreign(lab, "egress", 33, 2); /* our priority, another handle */
    assert_int_equal(sync_to(lab, 4), 4);
    assert_stands(lab, 4);
    assert_int_equal(nat_hooks_remove_all(lab->folder), 4);
    assert_true(has_clsact("eth0"));
    run("tc filter show dev eth0 egress | grep -q 'handle 0x2 foreign'");
    run("test -z \"$(tc filter show dev eth0 ingress)\"");
}

static void a_filter_before_ours_is_a_fault(void **state)
{
    struct lab *lab = *state;
    assert_int_equal(sync_to(lab, 4), 4);
    add_foreign(lab, "ingress", 2, 1);
    run("tc filter add dev eth0 ingress pref 7 protocol ip u32 match u32 0 0 flowid :1");
    assert_int_equal(nat_hooks_rank(lab->hooks, lab->wanted, 4), NAT_RANK_BEHIND);
    assert_int_equal(sync_to(lab, 4), 0);
    assert_fault(lab, "nat-overtaken-filter", "interface eth0",
                 "of priority 2 is attached to its ingress before NAT");
    run("tc filter del dev eth0 ingress pref 2");
    assert_int_equal(sync_to(lab, 4), 0);
    assert_fault(lab, "nat-overtaken-filter", "interface eth0",
                 "a u32 filter of priority 7 is attached to its ingress");
    run("tc filter del dev eth0 ingress pref 7");
    assert_stands(lab, 4);
    assert_int_equal(nat_hooks_rank(lab->hooks, lab->wanted, 4), NAT_RANK_FIRST);
}

static void a_taken_place_is_a_fault(void **state)
{
    struct lab *lab = *state;
    run("tc qdisc add dev eth0 clsact");
    add_foreign(lab, "ingress", 33, 1);
    assert_int_equal(sync_to(lab, 4), 3);
    assert_fault(lab, "nat-attach-refused", "interface eth0",
                 "its ingress: File exists (a filter of somebody else");
    assert_false(nat_hooks_attached(lab->hooks, lab->wanted, 1));
    run("tc filter show dev eth0 ingress | grep -q 'handle 0x1 foreign'");
    assert_int_equal(nat_hooks_remove_all(lab->folder), 3);
    run("tc filter show dev eth0 ingress | grep -q 'handle 0x1 foreign'");
}

static void an_ingress_qdisc_is_a_fault(void **state)
{
    struct lab *lab = *state;
    run("tc qdisc add dev eth0 ingress");
    assert_int_equal(sync_to(lab, 2), 0);
    assert_int_equal(lab->faults.list.count, 2);
    assert_non_null(strstr(lab->faults.list.items[0].message,
                           "its egress: File exists (a qdisc \"ingress\" stands"));
    run("tc qdisc show dev eth0 | grep -q ingress");
    run("test -z \"$(tc filter show dev eth0 ingress)\"");
}

/* clang-format off */
#define BOTH(test)                                                \
    { #test " (tcx)", test, lab_open_tcx, lab_close, NULL },      \
    { #test " (clsact)", test, lab_open_clsact, lab_close, NULL }
/* clang-format on */
#define TCX(test)    cmocka_unit_test_setup_teardown(test, lab_open_tcx, lab_close)
#define CLSACT(test) cmocka_unit_test_setup_teardown(test, lab_open_clsact, lab_close)

/* The agent loads these programs when they are first needed, and takes them off as any. */
static void an_interface_without_ethernet_headers(void **state)
{
    struct lab *lab = *state;
    run("ip tuntap add name tun0 mode tun");
    const enum nat_hook hooks[] = { NAT_HOOK_UPLINK_IN, NAT_HOOK_UPLINK_OUT };
    for (size_t i = 0; i < ARRAY_SIZE(hooks); i++) {
        lab->wanted[i] = attachment("tun0", hooks[i]);
        lab->wanted[i].bare = true;
    }
    assert_int_equal(sync_to(lab, 2), 2);
    assert_stands(lab, 2);
    for (size_t i = 0; i < ARRAY_SIZE(hooks); i++) {
        uint32_t bare = nat_datapath_program_id(datapaths[0], hooks[i], true);
        assert_int_not_equal(bare, 0);
        assert_int_not_equal(bare, nat_datapath_program_id(datapaths[0], hooks[i], false));
        lab->wanted[i].bare = false;
    }
    assert_false(nat_hooks_attached(lab->hooks, lab->wanted, 1));
    assert_int_equal(sync_to(lab, 2), 2);
    assert_stands(lab, 2);
    assert_int_equal(sync_to(lab, 0), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(what_is_wanted_stands),
        BOTH(a_restart_takes_over),
        BOTH(what_was_removed_comes_back),
        BOTH(an_interface_changes_its_role),
        BOTH(an_interface_goes_and_another_comes),
        BOTH(all_of_ours_can_be_removed),
        BOTH(an_interface_without_ethernet_headers),
        TCX(without_pins_links_live_with_the_process),
        TCX(foreign_links_stay),
        TCX(ours_goes_in_front_once),
        CLSACT(foreign_filters_stay),
        CLSACT(a_filter_before_ours_is_a_fault),
        CLSACT(a_taken_place_is_a_fault),
        CLSACT(an_ingress_qdisc_is_a_fault),
    };
    AUTOFAULTS struct faults faults = { 0 };
    if (unshare(CLONE_NEWNET) < 0) {
        printf("1..0 # SKIP no privilege to make network namespaces\n");
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(datapaths); i++) {
        if (nat_datapath_open(&small, &datapaths[i], &faults) < 0) {
            printf("Bail out! %s\n", faults.list.count ? faults.list.items[0].message : "?");
            return 1;
        }
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(datapaths); i++)
        nat_datapath_close(datapaths[i]);
    return failed;
}
