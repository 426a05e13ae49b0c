// SPDX-License-Identifier: Apache-2.0
/* What is ours, and that birdconf/ and docs/architecture.md say the same as the program does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/file.h"
#include "base/ours.h"
#include "base/text.h"
#include "cmocka_all.h"

static void protocols_are_known_by_their_number(void **state)
{
    (void)state;
    static const char meant[] = "BSDG"; /* of 30, 31, 32, 33 */
    for (unsigned number = 0; number <= UINT8_MAX; number++) {
        const struct ours_protocol *row = ours_protocol((uint8_t)number);
        bool ours = number >= 30 && number <= 63;
        char letter = !ours ? '-' : number < 34 ? meant[number - 30] : 'C';
        assert_int_equal(row != NULL, ours);
        assert_int_equal(ours_is_service((uint8_t)number), strchr("SDC", letter) != NULL);
        assert_int_equal(ours_is_rule((uint8_t)number), letter == 'G');
        assert_int_equal(ours_is_route(119, (uint8_t)number, 119), ours && letter != 'G');
        assert_int_equal(ours_is_route(120, (uint8_t)number, 119), letter == 'G');
        assert_int_equal(ours_is_route(254, (uint8_t)number, 119), letter == 'G');
        assert_false(ours_is_route(119, (uint8_t)number, 7119));
        assert_int_equal(ours_is_route(7119, (uint8_t)number, 7119), ours && letter != 'G');
    }
}

static void tables_and_aliases(void **state)
{
    (void)state;
    uint32_t tables[OURS_TABLES];
    ours_tables(7119, tables);
    assert_int_equal(tables[0], 7119);
    assert_int_equal(tables[1], 120);
    assert_int_equal(tables[2], 254);
    assert_true(ours_is_table(7119, 7119));
    assert_true(ours_is_table(120, 7119));
    assert_false(ours_is_table(119, 7119)); /* it was moved */
    assert_false(ours_is_table(254, 7119)); /* everybody's */
    assert_true(ours_is_alias("fingerpost"));
    assert_false(ours_is_alias(""));
    assert_false(ours_is_alias("fingerpost2"));
}

static void bird_is_asked_for_what_is_exported(void **state)
{
    (void)state;
    char set[OURS_SETLEN];
    assert_string_equal(ours_exported_set(set), "[30..32, 34..63]");
}

static char *read_file(const char *name)
{
    char path[4096];
    char *bytes = NULL;
    size_t size;
    snprintf(path, sizeof(path), "%s/%s", REPOSITORY, name);
    assert_int_equal(file_read(path, 1 << 20, &bytes, &size), 0);
    return bytes;
}

/* "30" or "34..63": a row's numbers, as both texts write them. */
static const char *numbers_of(const struct ours_protocol *row, char buffer[static 16])
{
    snprintf(buffer, 16, row->first == row->last ? "%u" : "%u..%u", row->first, row->last);
    return buffer;
}

/* The line of `text` that begins with `start` and holds `needle`; false if there is none. */
static bool has_line(const char *text, const char *start, const char *needle)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *found = strstr(line, needle);
        if (strncmp(line, start, strlen(start)) == 0 && found &&
            (size_t)(found - line) < strcspn(line, "\n"))
            return true;
    }
    return false;
}

/* Every number of ours behind `word` is one that the table has; numbers of others are no concern.
 */
static void expect_known(const char *text, const char *word)
{
    unsigned found = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) {
        char *end;
        unsigned long first = strtoul(at + strlen(word), &end, 10), last = first;
        if (end == at + strlen(word) || first > UINT8_MAX)
            continue;
        if (strncmp(end, "..", 2) == 0)
            last = strtoul(end + 2, &end, 10);
        const struct ours_protocol *row = ours_protocol((uint8_t)first);
        assert_non_null(row);
        assert_int_equal(row->first, first);
        assert_int_equal(row->last, last);
        found++;
    }
    assert_true(found > 0);
}

static void documents_name_every_number(void **state)
{
    (void)state;
    AUTOFREE char *page = read_file("docs/architecture.md");
    for (size_t i = 0; i < OURS_PROTOCOLS; i++) {
        char numbers[16], entry[64];
        snprintf(entry, sizeof(entry), "proto %s` | %s", numbers_of(&ours_protocols[i], numbers),
                 ours_protocols[i].meaning);
        assert_true(has_line(page, "| ", entry));
    }
    expect_known(page, " proto ");
    char text[128];
    snprintf(text, sizeof(text), "| %u (`routes.table`) |", ROUTE_TABLE_EXPORT);
    assert_non_null(strstr(page, text));
    snprintf(text, sizeof(text), "| %u | `unreachable ADDRESS proto %u`", ROUTE_TABLE_GUARD,
             ROUTE_PROTOCOL_GUARD);
    assert_non_null(strstr(page, text));
    snprintf(text, sizeof(text), "| rule | `%u: not from all iif lo lookup %u proto %u`",
             RULE_PRIORITY_GUARD, ROUTE_TABLE_GUARD, ROUTE_PROTOCOL_GUARD);
    assert_non_null(strstr(page, text));
    assert_non_null(strstr(page, "`" SVC0_NAME "`/`" SVC0_PEER_NAME "` (alias `" OURS_NAME "`)"));
    snprintf(text, sizeof(text), "filters \"" OURS_NAME "\" of priority %d", OURS_TC_PRIORITY);
    assert_non_null(strstr(page, text));
}

static void birdconf_knows_every_exported_number(void **state)
{
    (void)state;
    AUTOFREE char *conf = read_file("birdconf/fingerpost.conf");
    for (size_t i = 0; i < OURS_PROTOCOLS; i++) {
        char numbers[16], start[64];
        numbers_of(&ours_protocols[i], numbers);
        snprintf(start, sizeof(start), "#     %s ", numbers);
        assert_int_equal(has_line(conf, start, ours_protocols[i].meaning),
                         ours_protocols[i].exported);
        snprintf(start, sizeof(start), "\t\t%s:", numbers);
        assert_int_equal(has_line(conf, start, ":"), ours_protocols[i].exported);
    }
    expect_known(conf, "\n\t\t");
}

/* classes.conf may name single classes; each is one of the range that it explains. */
static void birdconf_knows_the_classes(void **state)
{
    (void)state;
    AUTOFREE char *conf = read_file("birdconf/classes.conf");
    char text[64];
    snprintf(text, sizeof(text), "krt_source %u + N", ROUTE_PROTOCOL_CLASS_FIRST);
    assert_non_null(strstr(conf, text));
    snprintf(text, sizeof(text), "(0..%u)", ROUTE_PROTOCOL_CLASS_LAST - ROUTE_PROTOCOL_CLASS_FIRST);
    assert_non_null(strstr(conf, text));
    unsigned found = 0;
    for (const char *line = conf; (line = strstr(line, "\n\t\t")); line += 3) {
        char *end;
        unsigned long number = strtoul(line + 3, &end, 10);
        if (*end != ':')
            continue;
        assert_true(number >= ROUTE_PROTOCOL_CLASS_FIRST && number <= ROUTE_PROTOCOL_CLASS_LAST);
        snprintf(text, sizeof(text), "# class %lu:", number - ROUTE_PROTOCOL_CLASS_FIRST);
        assert_non_null(strstr(conf, text));
        found++;
    }
    assert_true(found > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(protocols_are_known_by_their_number),
        cmocka_unit_test(tables_and_aliases),
        cmocka_unit_test(bird_is_asked_for_what_is_exported),
        cmocka_unit_test(documents_name_every_number),
        cmocka_unit_test(birdconf_knows_every_exported_number),
        cmocka_unit_test(birdconf_knows_the_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
