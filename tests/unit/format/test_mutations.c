// SPDX-License-Identifier: Apache-2.0
/*
 * Valid files, cut at every byte and with bytes changed by a generator of fixed seed: the reader
 * must come to an end, with a fault if it refuses (read_bytes() holds that), and every node that
 * it hands out must have a place in the file.
 */
#include "reading.h"

static const char json_list[] =
    "{\"apiVersion\": \"v1\",\r\n \"items\": [\n  {\"kind\": \"Service\", \"metadata\": "
    "{\"name\": \"w\\u00e4b\\\"\", \"annotations\": {\"a.b/c\": \"\xe2\x82\xac\"}},\n"
    "   \"spec\": {\"ports\": [{\"port\": 80, \"x\": -1.5e3}, null, [true, false, []]]}},\n"
    "  {\"kind\": \"Node\", \"a\": {}}],\n \"kind\": \"List\"}\n";

static const char json_values[] =
    "\xef\xbb\xbf{\"a\": [1, {\"b\": \"\\ud83d\\ude00\\\\\"}]} [2] \"x\" true\n{\"c\": null}";

static const char yaml_list[] =
    "# a list\napiVersion: v1\nitems:\n- kind: Service\n  metadata:\n    name: \"w\\u00e4b\"\n"
    "    annotations: {a.b/c: '\xe2\x82\xac', d: e}\n    f: |\n      text\n      }\n"
    "  spec:\n    ports:\n    - port: 80\n      x: ~\n- [a, b, {c: d}]\nkind: List\n";

static const char yaml_values[] =
    "\xef\xbb\xbf---\na: 1\nb:\n  - >\n    folded\n    text\n  - 'it''s'\n---\n---\r\nc: {\"d\": "
    "[1, 2]}\r\n...\r\n---\r\n? e\r\n: f\r\n";

static const struct {
    const char *text;
    size_t size;
    enum reader_format format;
    size_t documents;
} files[] = {
    { json_list, sizeof(json_list) - 1, READER_JSON, 2 },
    { json_values, sizeof(json_values) - 1, READER_JSON, 5 },
    { yaml_list, sizeof(yaml_list) - 1, READER_YAML, 2 },
    { yaml_values, sizeof(yaml_values) - 1, READER_YAML, 3 },
};

static const struct reader_limits limits = { .file_bytes = 700, .document_bytes = 400, .depth = 8 };

static void visit(const struct document *document, const struct doc *node)
{
    uint32_t line, column;
    doc_where(document, node, &line, &column);
    assert_in_range(line, 1, 100);
    assert_in_range(column, 1, 1000);
    AUTOFREE char *path = doc_path(node);
    assert_non_null(path);
    doc_each(child, node)
        visit(document, child);
}

/* Reads to the end. Returns the number of documents, or -1 if the file was refused. */
static int read_through(const char *bytes, size_t size, enum reader_format format)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(reader_freep) struct reader *reader = NULL;
    assert_int_equal(reader_open(make_file(bytes, size), "f", format, &limits, &reader), 0);
    for (int count = 0;; count++) {
        CLEANUP(document_freep) struct document *document = NULL;
        int r = reader_next(reader, &document, &faults);
        if (r > 0) {
            visit(document, document->root);
            continue;
        }
        assert_true(r == 0 || r == -EBADMSG);
        assert_int_equal(faults.list.count, r == 0 ? 0 : 1);
        /* A reader that came to its end stays there. */
        assert_int_equal(reader_next(reader, &document, &faults), 0);
        return r == 0 ? count : -1;
    }
}

static void whole_files_are_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        assert_int_equal(read_through(files[i].text, files[i].size, files[i].format),
                         files[i].documents);
}

static void cut_files_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        int refused = 0;
        for (size_t size = 0; size < files[i].size; size++)
            refused += read_through(files[i].text, size, files[i].format) < 0;
        assert_true(refused > 10);
    }
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

/* One change: another byte, a byte of syntax, a byte less, a stretch twice. */
static size_t mutate(char *bytes, size_t size, uint64_t *seed)
{
    static const char syntax[] = "{}[]\",:\\'&*!|>-?#%@ \n\r\t\0u0";
    size_t at = next_random(seed) % size;
    switch (next_random(seed) % 4) {
    case 0:
        bytes[at] = (char)next_random(seed);
        return size;
    case 1:
        bytes[at] = syntax[next_random(seed) % (sizeof(syntax) - 1)];
        return size;
    case 2:
        memmove(bytes + at, bytes + at + 1, size - at - 1);
        return size - 1;
    default: {
        size_t length = MIN(next_random(seed) % 40, size - at);
        memmove(bytes + at + length, bytes + at, size - at);
        return size + length;
    }
    }
}

static void changed_files_end(void **state)
{
    (void)state;
    uint64_t seed = 20261120;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        int good = 0, refused = 0;
        for (int round = 0; round < 3000; round++) {
            char bytes[1024];
            size_t size = files[i].size;
            memcpy(bytes, files[i].text, size);
            for (uint32_t changes = 1 + next_random(&seed) % 4; changes > 0; changes--)
                size = mutate(bytes, size, &seed);
            if (read_through(bytes, size, files[i].format) < 0)
                refused++;
            else
                good++;
        }
        assert_true(good > 50);
        assert_true(refused > 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_files_are_good),
        cmocka_unit_test(cut_files_end),
        cmocka_unit_test(changed_files_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
