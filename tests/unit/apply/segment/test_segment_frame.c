// SPDX-License-Identifier: Apache-2.0
/* Frames about addresses of a segment: their bytes, and what is read of others'. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/segment/segment_frame.h"
#include "base/macro.h"
#include "cmocka_all.h"

static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 7 };

static struct ip ip_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

/* As scapy writes the same: Ether()/ARP(), and Ether()/IPv6()/ICMPv6ND_NS() or NA(). */
static void bytes_are_the_standards(void **state)
{
    (void)state;
    static const struct {
        enum segment_word word;
        const char *ip, *hex;
    } rows[] = {
        { SEGMENT_PROBE, "192.0.2.9",
          "ffffffffffff02000000000708060001080006040001020000000007"
          "00000000000000000000c0000209" },
        { SEGMENT_ANNOUNCE, "192.0.2.9",
          "ffffffffffff02000000000708060001080006040001020000000007"
          "c0000209000000000000c0000209" },
        { SEGMENT_REPLY, "192.0.2.9",
          "ffffffffffff02000000000708060001080006040002020000000007"
          "c0000209ffffffffffffc0000209" },
        { SEGMENT_SEARCH, "192.0.2.9",
          "ffffffffffff02000000000708060001080006040001020000000007"
          "00000000020000000007c0000209" },
        { SEGMENT_REPLY, "2001:db8::9", "" },
        { SEGMENT_SEARCH, "2001:db8::9",
          "3333ff00000902000000000786dd6000000000183aff000000000000"
          "00000000000000000000ff0200000000000000000001ff0000098700"
          "4cdc0000000120010db8000000000000000000000009" },
        { SEGMENT_PROBE, "2001:db8::9",
          "3333ff00000902000000000786dd6000000000183aff000000000000"
          "00000000000000000000ff0200000000000000000001ff0000098700"
          "4cdd0000000020010db8000000000000000000000009" },
        { SEGMENT_ANNOUNCE, "2001:db8::9",
          "33330000000102000000000786dd6000000000203aff20010db80000"
          "00000000000000000009ff0200000000000000000000000000018800"
          "f9142000000020010db8000000000000000000000009020102000000"
          "0007" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint8_t frame[SEGMENT_FRAME_MAX];
        char hex[2 * SEGMENT_FRAME_MAX + 1] = "";
        struct ip ip = ip_of(rows[i].ip);
        size_t length = segment_frame_build(rows[i].word, &ip, mac, frame);
        for (size_t j = 0; j < length; j++)
            (void)snprintf(hex + 2 * j, 3, "%02x", frame[j]);
        assert_string_equal(hex, rows[i].hex);
    }
}

/* As scapy: Ether()/ARP(op="is-at"), and Ether()/IPv6()/ICMPv6ND_NA(R=0, S=0, O=1). */
static void one_host_is_told(void **state)
{
    (void)state;
    static const uint8_t host_mac[6] = { 2, 0, 0, 0, 0, 8 };
    static const struct {
        const char *ip, *host, *hex;
    } rows[] = {
        { "192.0.2.9", "192.0.2.100",
          "02000000000802000000000708060001080006040002020000000007"
          "c0000209020000000007c0000209" },
        { "2001:db8::9", "2001:db8::100",
          "02000000000802000000000786dd6000000000203aff20010db80000"
          "0000000000000000000920010db80000000000000000000001008800"
          "c95f2000000020010db8000000000000000000000009020102000000"
          "0007" },
        { "192.0.2.9", "2001:db8::100", "" },
        { "2001:db8::9", "192.0.2.100", "" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint8_t frame[SEGMENT_FRAME_MAX];
        char hex[2 * SEGMENT_FRAME_MAX + 1] = "";
        struct segment_claim claim;
        const struct ip ip = ip_of(rows[i].ip), host = ip_of(rows[i].host);
        size_t length = segment_frame_tell(&ip, mac, &host, host_mac, frame);
        for (size_t j = 0; j < length; j++)
            (void)snprintf(hex + 2 * j, 3, "%02x", frame[j]);
        assert_string_equal(hex, rows[i].hex);
        if (length) {
            assert_true(segment_frame_parse(frame, length, &claim));
            assert_true(ip_equal(&claim.ip, &ip));
            assert_memory_equal(claim.mac, mac, sizeof(mac));
        }
    }
}

static void frames_are_read_back(void **state)
{
    (void)state;
    static const char *const texts[] = { "192.0.2.9", "2001:db8::9", "fe80::1:2" };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        for (enum segment_word word = SEGMENT_PROBE; word <= SEGMENT_SEARCH; word++) {
            uint8_t frame[SEGMENT_FRAME_MAX];
            struct segment_claim claim;
            struct ip ip = ip_of(texts[i]);
            size_t length = segment_frame_build(word, &ip, mac, frame);
            if (length == 0)
                continue;
            assert_true(segment_frame_parse(frame, length, &claim));
            assert_true(ip_equal(&claim.ip, &ip));
            assert_memory_equal(claim.mac, mac, sizeof(mac));
            assert_int_equal(claim.is_probe, word == SEGMENT_PROBE || word == SEGMENT_SEARCH);
            assert_int_equal(claim.is_search, word == SEGMENT_SEARCH);
            for (size_t cut = 0; cut < length; cut++) {
                AUTOFREE uint8_t *part = malloc(cut + 1);
                assert_non_null(part);
                memcpy(part, frame, cut);
                assert_false(segment_frame_parse(part, cut, &claim));
            }
        }
    }
}

/* A changed bit of IPv6 is a wrong checksum or a wrong header; its MACs are not summed up. */
static void damage_is_found(void **state)
{
    (void)state;
    uint8_t frame[SEGMENT_FRAME_MAX];
    struct segment_claim claim;
    struct ip ip = ip_of("2001:db8::9");
    size_t length = segment_frame_build(SEGMENT_ANNOUNCE, &ip, mac, frame);
    for (size_t i = 12; i < length; i++) {
        if (i >= 15 && i < 18)
            continue; /* traffic class and flow label */
        frame[i] ^= 0x10;
        assert_false(segment_frame_parse(frame, length, &claim));
        frame[i] ^= 0x10;
    }
    assert_true(segment_frame_parse(frame, length, &claim));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_the_standards),
        cmocka_unit_test(one_host_is_told),
        cmocka_unit_test(frames_are_read_back),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
