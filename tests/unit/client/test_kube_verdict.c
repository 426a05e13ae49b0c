// SPDX-License-Identifier: Apache-2.0
/* What answers mean for a write, and whether a write of which nobody knows was done. */
#include <string.h>

#include "client/kube/kube_verdict.h"
#include "format/reader.h"

#include "cmocka_all.h"

static struct document *read_json(const char *text)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct document *document = NULL;
    assert_int_equal(document_parse(text, strlen(text), "", READER_JSON, &document, &faults), 1);
    return document;
}

static void statuses_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        int status;
        enum kube_outcome outcome;
    } cases[] = {
        { 200, KUBE_DONE },      { 201, KUBE_DONE },      { 202, KUBE_DONE },
        { 307, KUBE_LATER },     { 400, KUBE_REFUSED },   { 401, KUBE_LATER },
        { 403, KUBE_REFUSED },   { 404, KUBE_MISSING },   { 405, KUBE_REFUSED },
        { 408, KUBE_UNCERTAIN }, { 409, KUBE_CONFLICT },  { 415, KUBE_REFUSED },
        { 422, KUBE_REFUSED },   { 429, KUBE_LATER },     { 500, KUBE_UNCERTAIN },
        { 503, KUBE_UNCERTAIN }, { 504, KUBE_UNCERTAIN },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(kube_verdict_of(KUBE_MERGE, cases[i].status, NULL), cases[i].outcome);
    CLEANUP(document_freep) struct document *body = read_json("{\"reason\":\"AlreadyExists\"}");
    assert_int_equal(kube_verdict_of(KUBE_MERGE, 409, body->root), KUBE_EXISTS);
}

/* As the API says it of a test that failed, and of a number that may not be. */
static void a_failed_test_is_a_conflict(void **state)
{
    (void)state;
    CLEANUP(document_freep)
    struct document *failed = read_json("{\"reason\":\"Invalid\",\"details\":{},\"code\":422}");
    CLEANUP(document_freep)
    struct document *invalid =
        read_json("{\"reason\":\"Invalid\",\"details\":{\"kind\":\"Lease\"}}");
    assert_int_equal(kube_verdict_of(KUBE_TESTED, 422, failed->root), KUBE_CONFLICT);
    assert_int_equal(kube_verdict_of(KUBE_TESTED, 422, invalid->root), KUBE_REFUSED);
    assert_int_equal(kube_verdict_of(KUBE_MERGE, 422, failed->root), KUBE_REFUSED);
}

/* What is found of a write that was lost. JSON with ' for ". */
struct case_of {
    enum kube_verb verb;
    const char *sent, *there;
    enum kube_outcome outcome;
};

static const char *quoted(const char *text, char buffer[1024])
{
    size_t length = strlen(text);
    assert_true(length < 1024);
    for (size_t i = 0; i <= length; i++)
        buffer[i] = text[i] == '\'' ? '"' : text[i];
    return buffer;
}

static void check(const struct case_of *row)
{
    char sent[1024], there[1024];
    CLEANUP(document_freep) struct document *asked = read_json(quoted(row->sent, sent));
    CLEANUP(document_freep) struct document *found = read_json(quoted(row->there, there));
    const struct kube_write write = {
        .verb = row->verb, .manager = "ours", .uid = "u1", .version = "7"
    };
    enum kube_outcome outcome = kube_verdict_found(&write, asked->root, found->root);
    if (outcome != row->outcome)
        print_message("%s of %s, found %s\n", kube_verb_name(row->verb), sent, there);
    assert_int_equal(outcome, row->outcome);
}

#define OWNED(fields)                                                                     \
    "{'metadata':{'name':'a','managedFields':[{'manager':'kubectl','operation':'Update'," \
    "'fieldsV1':{'f:x':{}}},{'manager':'ours','operation':'Apply','fieldsV1':" fields     \
    "}]},'x':'1','y':'2','list':[{'k':'b'},{'k':'a','v':'1'}]}"

static void what_was_lost_is_found(void **state)
{
    (void)state;
    static const struct case_of rows[] = {
        /* Everything that was asked for is there, beside what the API fills in. */
        { KUBE_CREATE, "{'metadata':{'name':'a'},'spec':{'x':[1,{'y':'z'}]}}",
          "{'metadata':{'name':'a','uid':'u1'},'spec':{'d':true,'x':[1,{'y':'z','w':0}]}}",
          KUBE_DONE },
        { KUBE_CREATE, "{'metadata':{'name':'a'},'spec':{'x':1}}",
          "{'metadata':{'name':'a'},'spec':{'x':2}}", KUBE_EXISTS },
        { KUBE_CREATE, "{'metadata':{'name':'a'},'x':[1]}", "{'metadata':{'name':'a'},'x':[1,2]}",
          KUBE_EXISTS },
        { KUBE_CREATE, "{'metadata':{'name':'a'},'x':[1,2]}", "{'metadata':{'name':'a'},'x':[1,3]}",
          KUBE_EXISTS },
        { KUBE_CREATE, "{'metadata':{'name':'a'},'x':{}}", "{'metadata':{'name':'a'},'x':'{}'}",
          KUBE_EXISTS },
        /* What is empty is left out. */
        { KUBE_CREATE, "{'metadata':{'name':'a'},'x':[],'y':{},'z':false,'n':0,'t':'','u':null}",
          "{'metadata':{'name':'a'}}", KUBE_DONE },
        { KUBE_CREATE, "{'metadata':{'name':'a'},'z':true}", "{'metadata':{'name':'a'}}",
          KUBE_EXISTS },
        /* A version that stands shows that nothing happened. */
        { KUBE_UPDATE, "{'metadata':{'resourceVersion':'7'},'spec':{'h':'me'}}",
          "{'metadata':{'resourceVersion':'7'},'spec':{'h':'you'}}", KUBE_LATER },
        { KUBE_UPDATE, "{'metadata':{'resourceVersion':'7'},'spec':{'h':'me'}}",
          "{'metadata':{'resourceVersion':'8'},'spec':{'h':'me'}}", KUBE_DONE },
        { KUBE_UPDATE, "{'metadata':{'resourceVersion':'7'},'spec':{'h':'me'}}",
          "{'metadata':{'resourceVersion':'8'},'spec':{'h':'you'}}", KUBE_CONFLICT },
        { KUBE_MERGE, "{'x':'1','gone':null}", "{'x':'1','y':'2'}", KUBE_DONE },
        { KUBE_MERGE, "{'x':'1','gone':null}", "{'x':'1','gone':'2'}", KUBE_LATER },
        { KUBE_MERGE, "{'metadata':{'resourceVersion':'7'},'x':'1'}",
          "{'metadata':{'resourceVersion':'8'},'x':'2'}", KUBE_CONFLICT },
        { KUBE_MERGE, "{'metadata':{'resourceVersion':'7'},'x':'1'}",
          "{'metadata':{'resourceVersion':'7'},'x':'2'}", KUBE_LATER },
        /* Applied: as fields of ours, and no field more. */
        { KUBE_APPLY, "{'metadata':{'name':'a'},'x':'1'}", OWNED("{'f:x':{}}"), KUBE_DONE },
        { KUBE_APPLY, "{'metadata':{'name':'a'},'x':'1'}", OWNED("{'f:x':{},'f:y':{}}"),
          KUBE_LATER },
        { KUBE_APPLY, "{'metadata':{'name':'a'},'x':'2'}", OWNED("{'f:x':{}}"), KUBE_LATER },
        { KUBE_APPLY, "{'metadata':{'name':'a'},'x':'1'}",
          "{'metadata':{'name':'a','managedFields':[]},'x':'1'}", KUBE_LATER },
        { KUBE_APPLY, "{'list':[{'k':'a','v':'1'}]}",
          OWNED("{'f:list':{'k:{\\'k\\':\\'a\\'}':{'.':{},'f:v':{}}}}"), KUBE_DONE },
        { KUBE_APPLY, "{'list':[{'k':'a','v':'1'}]}",
          OWNED("{'f:list':{'k:{\\'k\\':\\'a\\'}':{'.':{}},'k:{\\'k\\':\\'b\\'}':{'.':{}}}}"),
          KUBE_LATER },
        /* Deleted: gone, going, or another of the same name. */
        { KUBE_DELETE, "{}", "{'metadata':{'uid':'u2','resourceVersion':'9'}}", KUBE_DONE },
        { KUBE_DELETE, "{}",
          "{'metadata':{'uid':'u1','resourceVersion':'9','deletionTimestamp':'x'}}", KUBE_DONE },
        { KUBE_DELETE, "{}", "{'metadata':{'uid':'u1','resourceVersion':'7'}}", KUBE_LATER },
        { KUBE_DELETE, "{}", "{'metadata':{'uid':'u1','resourceVersion':'8'}}", KUBE_CONFLICT },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check(&rows[i]);
}

static void what_is_not_there(void **state)
{
    (void)state;
    assert_int_equal(kube_verdict_absent(KUBE_CREATE), KUBE_LATER);
    assert_int_equal(kube_verdict_absent(KUBE_APPLY), KUBE_LATER);
    assert_int_equal(kube_verdict_absent(KUBE_UPDATE), KUBE_MISSING);
    assert_int_equal(kube_verdict_absent(KUBE_MERGE), KUBE_MISSING);
    assert_int_equal(kube_verdict_absent(KUBE_DELETE), KUBE_DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_are_told_apart),
        cmocka_unit_test(a_failed_test_is_a_conflict),
        cmocka_unit_test(what_was_lost_is_found),
        cmocka_unit_test(what_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
