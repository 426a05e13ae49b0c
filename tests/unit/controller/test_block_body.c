// SPDX-License-Identifier: Apache-2.0
/* Bodies about blocks, letter for letter: what Coil's nodes read, and what the API compares. */
#include "controller/pods/block_body.h"
#include "model/fields/finalizers.h"
#include "plan/pods/block_object.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "format/reader.h"

static struct object *object_of(const char *yaml)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    assert_int_equal(document_parse(yaml, strlen(yaml), "t", READER_YAML, &document, &faults), 1);
    assert_int_equal(object_decode(document, &object, NULL, &faults, &faults), 1);
    return object;
}

static void assert_text(const struct text *body, const char *expected)
{
    assert_int_equal(text_error(body), 0);
    assert_string_equal(text_str(body), expected);
}

static void a_block_has_labels_a_finalizer_and_its_pool_as_owner(void **state)
{
    (void)state;
    CLEANUP(object_freep)
    struct object *pool =
        object_of("apiVersion: coil.cybozu.com/v2\nkind: AddressPool\nmetadata: {name: default, "
                  "uid: p1}\nspec: {subnets: [{ipv4: 10.2.0.0/16, ipv6: 'fd02::/112'}]}\n");
    struct block_entry entry = { .name = "default-16",
                                 .pool = "default",
                                 .node = "n1",
                                 .node_uid = "u1",
                                 .request = "r1",
                                 .index = 16 };
    assert_int_equal(prefix_parse("10.2.2.0/27", &entry.ipv4), 0);
    assert_int_equal(prefix_parse("fd02::200/123", &entry.ipv6), 0);
    AUTOTEXT struct text both = { 0 }, single = { 0 };
#define HEAD                                                                                       \
    "{\"apiVersion\":\"coil.cybozu.com/v2\",\"kind\":\"AddressBlock\",\"metadata\":{\"name\":"     \
    "\"default-16\",\"labels\":{\"coil.cybozu.com/pool\":\"default\",\"coil.cybozu.com/node\":"    \
    "\"n1\",\"coil.cybozu.com/request\":\"r1\",\"fingerpost.io/node-uid\":\"u1\"},\"finalizers\":" \
    "[\"coil.cybozu.com\"],\"ownerReferences\":[{\"apiVersion\":\"coil.cybozu.com/v2\",\"kind\":"  \
    "\"AddressPool\",\"name\":\"default\",\"uid\":\"p1\",\"controller\":true,"                     \
    "\"blockOwnerDeletion\":true}]},\"index\":16,"
    write_address_block(&entry, to_address_pool(pool), &both);
    assert_text(&both, HEAD "\"ipv4\":\"10.2.2.0/27\",\"ipv6\":\"fd02::200/123\"}");
    entry.ipv4 = (struct prefix){ 0 };
    write_address_block(&entry, to_address_pool(pool), &single);
    assert_text(&single, HEAD "\"ipv6\":\"fd02::200/123\"}");
}

#define CONDITION(type, reason, message)                                                     \
    "{\"type\":\"" type "\",\"status\":\"True\",\"lastProbeTime\":\"2026-11-24T12:00:00Z\"," \
    "\"lastTransitionTime\":\"2026-11-24T12:00:00Z\",\"reason\":\"" reason                   \
    "\",\"message\":\"" message "\"}"

static void an_answer_is_the_condition_that_nodes_wait_for(void **state)
{
    (void)state;
    enum { SECONDS = 1795521600 };
    CLEANUP(object_freep)
    struct object *request = object_of(
        "apiVersion: coil.cybozu.com/v2\nkind: BlockRequest\nmetadata: {name: a, uid: r1, "
        "resourceVersion: '77'}\nspec: {nodeName: n1, poolName: default}\n");
    AUTOTEXT struct text served = { 0 }, failed = { 0 };
    write_answer(to_block_request(request), "default-3", SECONDS * INT64_C(1000), &served);
    assert_text(&served, "{\"metadata\":{\"uid\":\"r1\",\"resourceVersion\":\"77\"},\"status\":"
                         "{\"addressBlockName\":\"default-3\",\"conditions\":[" CONDITION(
                             "Complete", "allocated", "allocated a block default-3") "]}}");
    write_answer(to_block_request(request), NULL, SECONDS * INT64_C(1000), &failed);
    assert_text(
        &failed,
        "{\"metadata\":{\"uid\":\"r1\",\"resourceVersion\":\"77\"},\"status\":"
        "{\"conditions\":[" CONDITION(
            "Complete", "completed with failure",
            "completed with failure") "," CONDITION("Failed", "out of blocks",
                                                    "pool default does not have free blocks") "]}}");
}

static void assert_finalizers(const char *before, bool held, const char *expected)
{
    AUTOFREE char *yaml = text_format(
        "apiVersion: coil.cybozu.com/v2\nkind: AddressPool\nmetadata: {name: a, uid: p1, "
        "resourceVersion: '5', finalizers: [%s]}\nspec: {subnets: [{ipv4: 10.2.0.0/16}]}\n",
        before);
    CLEANUP(object_freep) struct object *pool = object_of(yaml);
    AUTOTEXT struct text body = { 0 };
    AUTOFREE char *whole = text_format(
        "{\"metadata\":{\"uid\":\"p1\",\"resourceVersion\":\"5\",\"finalizers\":[%s]}}", expected);
    assert_int_equal(write_finalizers(pool, COIL_FINALIZER, held, &body), 0);
    assert_text(&body, whole);
}

static void finalizers_of_others_stay(void **state)
{
    (void)state;
    assert_finalizers("", true, "\"coil.cybozu.com\"");
    assert_finalizers("other, third", true, "\"other\",\"third\",\"coil.cybozu.com\"");
    assert_finalizers("other, coil.cybozu.com, third", false, "\"other\",\"third\"");
    assert_finalizers("coil.cybozu.com", false, "");
    assert_finalizers("coil.cybozu.com", true, "\"coil.cybozu.com\"");
}

/* Those beyond the bound are not known, and a list that lacks them would take them away. */
static void more_finalizers_than_are_known_are_left_alone(void **state)
{
    (void)state;
    AUTOTEXT struct text yaml = { 0 }, body = { 0 };
    text_add(&yaml, "apiVersion: coil.cybozu.com/v2\nkind: AddressPool\nmetadata: {name: a, uid: "
                    "p1, finalizers: [");
    for (int i = 0; i < OBJECT_FINALIZERS_MAX; i++)
        text_addf(&yaml, "f%d, ", i);
    text_add(&yaml, "last]}\nspec: {subnets: [{ipv4: 10.2.0.0/16}]}\n");
    CLEANUP(object_freep) struct object *pool = object_of(text_str(&yaml));
    assert_int_equal(write_finalizers(pool, COIL_FINALIZER, true, &body), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_has_labels_a_finalizer_and_its_pool_as_owner),
        cmocka_unit_test(an_answer_is_the_condition_that_nodes_wait_for),
        cmocka_unit_test(finalizers_of_others_stay),
        cmocka_unit_test(more_finalizers_than_are_known_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
