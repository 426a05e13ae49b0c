/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bpf file system of the test's own, datapaths on it, and what stands in their maps as text: in
 * terms of names and addresses, without ids. Needs root and BPF; without them tests fail.
 */
#pragma once

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/arrays.h"
#include "apply/nat/maps/table.h"
#include "apply/nat/services/adopt.h"
#include "apply/nat/services/ranges.h"
#include "apply/nat/services/rows.h"
#include "nat_rows.h"
#include "nat_timeouts.h"

static char lab_pins[64]; /* a folder that does not exist yet, on a bpf file system */
static char lab_mount[40];

static inline int lab_begin(void **state)
{
    (void)state;
    (void)snprintf(lab_mount, sizeof(lab_mount), "/tmp/fingerpost-plane-XXXXXX");
    if (!mkdtemp(lab_mount) || unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("bpf", lab_mount, "bpf", 0, NULL) < 0) {
        perror("root is needed, and a bpf file system");
        return -1;
    }
    (void)snprintf(lab_pins, sizeof(lab_pins), "%s/pins", lab_mount);
    return 0;
}

static inline int lab_end(void **state)
{
    (void)state;
    return umount2(lab_mount, MNT_DETACH) < 0 || rmdir(lab_mount) < 0 ? -1 : 0;
}

static inline int lab_clean(void **state)
{
    (void)state;
    return nat_datapath_unpin(lab_pins) < 0 ? -1 : 0;
}

static inline void print_faults(const struct faults *faults)
{
    vec_each(const struct fault, fault, &faults->list)
        print_message("# %s: %s (%s)\n", fault->place, fault->message,
                      fault->remedy ? fault->remedy : "-");
}

static const struct nat_datapath_options lab_roomy = { NULL, 1024, 4096, 16384 };

static inline struct nat_datapath *datapath_open(const struct nat_datapath_options *options,
                                                 bool pinned)
{
    struct nat_datapath_options with = *options;
    struct nat_datapath *datapath = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    with.pins = pinned ? lab_pins : NULL;
    int r = nat_datapath_open(&with, &datapath, &faults);
    print_faults(&faults);
    assert_int_equal(r, 0);
    static const struct nat_settings settings = { .timeouts_s = NAT_TIMEOUTS };
    assert_int_equal(nat_datapath_set(datapath, &settings, &faults), 0);
    return datapath;
}

#define AUTOPLANE CLEANUP(nat_datapath_closep)

/* As a new process would, but without the second that loading the programs takes. */
static inline void datapath_adopt(struct nat_datapath *datapath)
{
    nat_forget(datapath);
    assert_int_equal(nat_adopt(datapath), 0);
}

/* Nothing has to rest any more: tests change in a second what takes a day, and would run dry. */
static inline void datapath_wake(struct nat_datapath *datapath)
{
    for (size_t i = datapath->ids.resting_from; i < datapath->ids.resting.count; i++)
        datapath->ids.resting.items[i].until_ms = 0;
}

/* Writes a row; the result must be `wanted`, and without a fault. */
static inline void expect_write(struct nat_datapath *datapath, const struct nat_row *row,
                                int wanted)
{
    AUTOFAULTS struct faults faults = { 0 };
    int r = nat_datapath_write(datapath, row, &faults);
    print_faults(&faults);
    assert_int_equal(r, wanted);
    assert_true(faults_none(&faults));
}

static inline const struct nat_installed *installed_of(const struct nat_datapath *datapath,
                                                       const char *name)
{
    const struct nat_installed *installed = nat_installed_find(datapath, name);
    assert_non_null(installed);
    return installed;
}

/* `rows`: struct nat_row *, of which NULLs are left out. */
static inline void expect_verified(struct nat_datapath *datapath, struct nat_row *const *rows,
                                   size_t count)
{
    CLEANUP(nat_differences_done) nat_difference_list list = { 0 };
    struct sorted table = SORTED(struct nat_row *, nat_row_cmp);
    for (size_t i = 0; i < count; i++) {
        if (rows[i])
            assert_int_equal(sorted_put(&table, &rows[i]), 0);
    }
    assert_int_equal(nat_datapath_verify(datapath, &table, &list), 0);
    sorted_each(struct nat_row *, row, &table)
        assert_int_equal(nat_datapath_verify_row(datapath, *row, &list), 0);
    vec_each(const struct nat_difference, it, &list)
        print_message("# %s: %s\n", it->service, it->text);
    assert_int_equal(list.count, 0);
    sorted_done(&table);
}

static inline void dump_port(struct nat_datapath *datapath, uint32_t service, uint32_t port,
                             struct text *text)
{
    uint8_t family;
    enum protocol protocol;
    uint16_t number;
    if (!nat_datapath_port(datapath, port, &family, &protocol, &number))
        return;
    uint32_t bank = nat_service_bank(datapath, service);
    text_addf(text, " port IPv%u %u/%s %012llx", family, number, protocol_name(protocol),
              (unsigned long long)datapath->ports[port * NAT_BANKS + bank].outcomes);
    for (int set = 0; set < NAT_SETS; set++) {
        nat_endpoint_list list = { 0 };
        assert_int_equal(nat_datapath_set_endpoints(datapath, service, port, set, &list), 0);
        text_add(text, set ? " local" : " cluster");
        vec_each(const struct nat_endpoint, it, &list) {
            char address[IP_STRLEN];
            text_addf(text, " %s-%u", ip_str(&it->ip, address), it->port);
        }
        vec_done(&list);
    }
}

/* What packets to one Service would find. */
static inline void dump_service(struct nat_datapath *datapath,
                                const struct nat_installed *installed, struct text *text)
{
    uint64_t word = datapath->services[installed->id];
    text_addf(text, "%s %llx\n", installed->name,
              (unsigned long long)(word & 0xffffffff & ~NAT_SERVICE_BANK));
    vec_each(const struct nat_entry, entry, &installed->entries) {
        char key[NAT_KEY_STRLEN];
        struct nat_frontend_value value;
        if (nat_table_get(datapath, NAT_MAP_FRONTENDS, &entry->key, &value) < 0 ||
            value.service != installed->id)
            continue;
        text_addf(text, "  %s kind %u", nat_key_str(&entry->key, key), value.kind);
        dump_port(datapath, installed->id, value.port, text);
        text_add(text, "\n");
    }
    uint32_t bank = nat_service_bank(datapath, installed->id);
    vec_each(const struct nat_range_key, range, &installed->ranges[bank]) {
        struct ip address = nat_addr_ip(&range->addr);
        char buffer[IP_STRLEN];
        bool there = nat_range_is_there(datapath, range, installed->id, bank);
        text_addf(text, "  range %s/%u%s\n", ip_str(&address, buffer), range->prefixlen,
                  there ? "" : " is missing");
    }
}

/* All Services. The caller frees it. */
static inline char *datapath_dump(struct nat_datapath *datapath)
{
    AUTOTEXT struct text text = { 0 };
    sorted_each(struct nat_installed *, installed, &datapath->installed)
        dump_service(datapath, *installed, &text);
    text_add(&text, "");
    char *dump = text_take(&text);
    return dump ? dump : strdup("");
}

static inline void expect_dump(struct nat_datapath *datapath, const char *wanted)
{
    AUTOFREE char *dump = datapath_dump(datapath);
    assert_string_equal(dump, wanted);
}

/* The first port of a Service, in the bank in force. */
static inline struct nat_port_value *port_of(struct nat_datapath *datapath,
                                             const struct nat_installed *installed)
{
    return &datapath->ports[installed->ports.items[0].id * NAT_BANKS +
                            nat_service_bank(datapath, installed->id)];
}

static inline struct nat_endpoint_value *
endpoint_of(struct nat_datapath *datapath, const struct nat_installed *installed, size_t n)
{
    return &datapath->endpoints[installed->endpoints.items[n]];
}

/* All of them are told of d/web, or of no Service. */
static inline size_t count_differences(struct nat_datapath *datapath, struct nat_row *row)
{
    CLEANUP(nat_differences_done) nat_difference_list list = { 0 };
    struct sorted table = SORTED(struct nat_row *, nat_row_cmp);
    assert_int_equal(sorted_put(&table, &row), 0);
    assert_int_equal(nat_datapath_verify(datapath, &table, &list), 0);
    sorted_done(&table);
    vec_each(const struct nat_difference, it, &list) {
        assert_true(*it->text);
        assert_true(!*it->service || strcmp(it->service, "d/web") == 0);
    }
    return list.count;
}
