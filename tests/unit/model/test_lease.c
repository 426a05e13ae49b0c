// SPDX-License-Identifier: Apache-2.0
/* The record of a Lease, read and written. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "format/reader.h"
#include "model/lease.h"

static const char *read_json(const char *json, struct lease_record *record, char *version)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    assert_int_equal(document_parse(json, strlen(json), "test", READER_JSON, &document, &faults),
                     1);
    return lease_read(document->root, record, version);
}

static void reads_a_lease(void **state)
{
    (void)state;
    struct lease_record record;
    char version[LEASE_VERSION_MAX];
    assert_null(read_json("{\"metadata\":{\"resourceVersion\":\"77\"},\"spec\":{"
                          "\"holderIdentity\":\"a_1\",\"leaseDurationSeconds\":15,"
                          "\"leaseTransitions\":3,\"acquireTime\":\"2026-11-20T07:33:00.000000Z\","
                          "\"renewTime\":\"2026-11-20T07:33:01.250999Z\"}}",
                          &record, version));
    assert_string_equal(version, "77");
    assert_string_equal(record.holder, "a_1");
    assert_int_equal(record.duration_s, 15);
    assert_int_equal(record.transitions, 3);
    assert_int_equal(record.renewed_wall_ms - record.acquired_wall_ms, 1250);
    assert_false(record.coordinated);
}

static void what_is_absent_is_nothing(void **state)
{
    (void)state;
    struct lease_record record;
    char version[LEASE_VERSION_MAX];
    assert_null(read_json("{\"metadata\":{}}", &record, version));
    assert_string_equal(version, "");
    assert_string_equal(record.holder, "");
    assert_int_equal(record.duration_s, 0);
    assert_null(
        read_json("{\"spec\":{\"strategy\":\"OldestEmulationVersion\"}}", &record, version));
    assert_true(record.coordinated);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *json, *error;
    } cases[] = {
        { "{\"spec\":{\"leaseDurationSeconds\":\"15\"}}",
          "spec.leaseDurationSeconds is no number" },
        { "{\"spec\":{\"leaseDurationSeconds\":-1}}", "spec.leaseDurationSeconds is no number" },
        { "{\"spec\":{\"leaseTransitions\":99999999999}}", "spec.leaseTransitions is no number" },
        { "{\"spec\":{\"renewTime\":\"soon\"}}", "spec.renewTime is no time" },
        { "{\"spec\":{\"acquireTime\":{}}}", "spec.acquireTime is no time" },
        { "{\"spec\":{\"holderIdentity\":[]}}",
          "spec.holderIdentity is longer than 255 characters, or no string" },
        { "{\"metadata\":{\"resourceVersion\":{}}}",
          "metadata.resourceVersion is longer than 127 characters, or no string" },
    };
    struct lease_record record = { .transitions = 4 };
    char version[LEASE_VERSION_MAX] = "5";
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_string_equal(read_json(cases[i].json, &record, version), cases[i].error);
    assert_int_equal(record.transitions, 4);
    assert_string_equal(version, "5");
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    const struct lease_record record = {
        .holder = "node-1_\"x\"",
        .duration_s = 15,
        .acquired_wall_ms = 1763623980007,
        .renewed_wall_ms = 1763623981250,
        .transitions = 2,
    };
    struct lease_record again;
    char version[LEASE_VERSION_MAX];
    AUTOTEXT struct text patch = { 0 }, fresh = { 0 };
    lease_write(&record, "kube-system", "leader", "12", NULL, &patch);
    assert_non_null(strstr(text_str(&patch), "\"acquireTime\":\"2025-11-20T07:33:00.007000Z\""));
    assert_null(read_json(text_str(&patch), &again, version));
    assert_true(lease_record_eq(&record, &again));
    assert_string_equal(version, "12");
    lease_write(&record, "kube-system", "leader", "", LEASE_LABEL, &fresh);
    assert_null(strstr(text_str(&fresh), "resourceVersion"));
    assert_null(strstr(text_str(&patch), "labels"));
    assert_non_null(strstr(text_str(&fresh), "\"labels\":{\"fingerpost.io/claim\":\"true\"}"));
}

/* With ' for ". */
static const char *quoted(char *text)
{
    for (char *at = text; (at = strchr(at, '\''));)
        *at = '"';
    return text;
}

static void a_patch_tests_what_it_is_written_over(void **state)
{
    (void)state;
    char expected[] =
        "[{'op':'test','path':'/metadata/resourceVersion','value':'12'},"
        "{'op':'test','path':'/spec/holderIdentity','value':'a'},"
        "{'op':'test','path':'/spec/renewTime','value':'2025-11-20T07:33:01.250000Z'},"
        "{'op':'add','path':'/spec/holderIdentity','value':'b'},"
        "{'op':'add','path':'/spec/leaseDurationSeconds','value':15},"
        "{'op':'add','path':'/spec/leaseTransitions','value':3},"
        "{'op':'add','path':'/spec/acquireTime','value':'2025-11-20T07:33:00.007000Z'},"
        "{'op':'add','path':'/spec/renewTime','value':'2025-11-20T07:33:02.000000Z'}]";
    const struct lease_record over = { .holder = "a", .renewed_wall_ms = 1763623981250 };
    const struct lease_record record = {
        .holder = "b",
        .duration_s = 15,
        .acquired_wall_ms = 1763623980007,
        .renewed_wall_ms = 1763623982000,
        .transitions = 3,
    };
    AUTOTEXT struct text patch = { 0 };
    lease_patch(&record, &over, "12", &patch);
    assert_string_equal(text_str(&patch), quoted(expected));
}

static void what_others_wrote_is_foreign(void **state)
{
    (void)state;
#define LABELS "'metadata':{'labels':{'fingerpost.io/claim':''}}"
    static const struct {
        const char *json;
        bool foreign;
    } cases[] = {
        { "{" LABELS ",'spec':{'holderIdentity':'','renewTime':'2025-11-20T07:33:01.250000Z'}}",
          false },
        { "{" LABELS ",'spec':{'holderIdentity':'','renewTime':'2025-11-20T07:33:01.250001Z'}}",
          true },
        { "{" LABELS ",'spec':{'holderIdentity':'','renewTime':'2025-11-20T07:33:01Z'}}", true },
        { "{" LABELS ",'spec':{'holderIdentity':''}}", true },
        { "{" LABELS ",'spec':{'renewTime':'2025-11-20T07:33:01.250000Z'}}", true },
        { "{'spec':{'holderIdentity':'','renewTime':'2025-11-20T07:33:01.250000Z'}}", true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[256], version[LEASE_VERSION_MAX];
        struct lease_record record;
        (void)snprintf(text, sizeof(text), "%s", cases[i].json);
        assert_null(read_json(quoted(text), &record, version));
        assert_int_equal(record.foreign, cases[i].foreign);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_lease),
        cmocka_unit_test(what_is_absent_is_nothing),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_patch_tests_what_it_is_written_over),
        cmocka_unit_test(what_others_wrote_is_foreign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
