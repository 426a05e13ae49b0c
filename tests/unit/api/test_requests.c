// SPDX-License-Identifier: Apache-2.0
/* Requests of the CNI plugin that are refused: which fault of the catalogue the answer has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/pods/pods_inside.h"
#include "cmocka_all.h"
#include "faults/catalogue.h"
#include "format/reader.h"

static struct document *parse(const char *body)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct document *document = NULL;
    assert_int_equal(document_parse(body, strlen(body), "body", READER_JSON, &document, &faults),
                     1);
    return document;
}

static void assert_only(const struct faults *faults, const char *code)
{
    assert_int_equal(faults->list.count, 1);
    assert_non_null(faults->list.items[0].type);
    assert_string_equal(faults->list.items[0].type->code, code);
}

static void what_a_pod_lacks_has_a_code(void **state)
{
    (void)state;
    static const struct {
        const char *body, *code;
    } cases[] = {
        { "{\"name\":\"a\"}", "request-pod-unnamed" },
        { "{\"namespace\":\"a\",\"name\":\"b\",\"egressOnly\":true}", "request-addresses-missing" },
        { "{\"network\":\"a b\"}", "request-network-wrong" },
        { "{\"nmae\":\"a\"}", "document-member-unknown" },
        { "{\"name\":1}", "document-value-unexpected" },
        { "{\"egressOnly\":true,\"addresses\":[\"x\"]}", "document-value-unexpected" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOFAULTS struct faults faults = { 0 };
        CLEANUP(document_freep) struct document *body = parse(cases[i].body);
        struct pod_request request = { 0 };
        assert_int_equal(pods_read_request(body, &request, &faults), -EBADMSG);
        assert_only(&faults, cases[i].code);
    }
}

/* Nobody's addresses are given back: the functions that would are not called, and are NULL. */
static void a_list_that_says_nothing_has_a_code(void **state)
{
    (void)state;
    static const struct {
        const char *body, *code;
    } cases[] = {
        { "{\"live\":[]}", "request-network-unnamed" },
        { "{\"network\":\"a\"}", "request-list-missing" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct pods_api_options options = { 0 };
        const struct http_request request = { .body = cases[i].body,
                                              .body_size = strlen(cases[i].body) };
        struct http_reply reply = { 0 };
        pods_api_gc(&options, &request, &reply);
        assert_int_equal(reply.status, 400);
        assert_non_null(strstr(reply.body, fault_catalogue_find(cases[i].code)->message));
        free(reply.body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_pod_lacks_has_a_code),
        cmocka_unit_test(a_list_that_says_nothing_has_a_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
