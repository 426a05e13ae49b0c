// SPDX-License-Identifier: Apache-2.0
/* From BIRD's state to faults: each by its code, out of facts. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "bgp/bgp_faults.h"
#include "plan/routes/route_table.h"
#include "raised.h"

enum { TABLE = 119 };

/* BIRD with one session that is up and takes IPv4. */
static struct bird_status bird_of(struct bgp_peer *peer)
{
    *peer = (struct bgp_peer){ .name = "tor1",
                               .address = "10.0.1.1",
                               .asn = 64600,
                               .established = true,
                               .exports[BGP_IPV4] = true,
                               .exported = 3 };
    return (struct bird_status){ .socket = "/run/bird/bird.ctl",
                                 .reachable = true,
                                 .peers = { .items = peer, .count = 1 },
                                 .learned[BGP_IPV4] = 3,
                                 .expected[BGP_IPV4] = 3 };
}

static void assert_silence(const char *error, const char *expected)
{
    struct bgp_peer peer;
    struct bird_status bird = bird_of(&peer);
    AUTOFAULTS struct faults faults = { 0 };
    (void)snprintf(bird.error, sizeof(bird.error), "%s", error);
    bgp_silence_faults(&bird, &faults);
    assert_told(&faults, expected);
}

static void a_socket_that_can_not_be_asked(void **state)
{
    (void)state;
    assert_silence("", "bird-silent at /run/bird/bird.ctl: what is announced is not known: BIRD "
                       "does not answer\n");
    assert_silence("connect: Connection refused",
                   "bird-silent at /run/bird/bird.ctl: what is announced is not known: connect: "
                   "Connection refused\n");
    assert_silence("connect: Permission denied",
                   "bird-socket-denied at /run/bird/bird.ctl: what is announced is not known: "
                   "connect: Permission denied\n");
    struct bgp_peer peer;
    struct bird_status bird = bird_of(&peer);
    AUTOFAULTS struct faults faults = { 0 };
    bgp_socket_faults(&bird, &faults);
    assert_raised(&faults, "bird-socket-gone at /run/bird/bird.ctl\n");
}

static void assert_kept(const struct bird_status *bird, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    bgp_kept_faults(bird, true, TABLE, &faults);
    assert_told(&faults, expected);
}

static void routes_that_a_peer_does_not_get(void **state)
{
    (void)state;
    struct bgp_peer peer;
    struct bird_status bird = bird_of(&peer);
    assert_kept(&bird, "");
    peer.exported = 1;
    assert_kept(&bird, "bgp-routes-hidden at tor1: this peer does not get 2 routes of table 119: "
                       "BIRD has better routes to the same networks\n");
    peer.exported = 3;
    peer.limited = true;
    assert_kept(&bird, "bgp-export-limited at tor1: its export limit is reached: this peer does "
                       "not get all routes of table 119\n");
    bird.expect = (struct peer_expectation){ .set = true };
    assert_kept(&bird, ""); /* no session is expected */
}

static void assert_learned(const struct bird_status *bird, const char *expected)
{
    static const bool differs[BGP_FAMILIES] = { [BGP_IPV4] = true };
    AUTOFAULTS struct faults faults = { 0 };
    bgp_learned_faults(bird, differs, TABLE, &faults);
    assert_raised(&faults, expected);
}

/* The cause that is nearest to the operator's hand is told. */
static void routes_that_bird_has_not_learned(void **state)
{
    (void)state;
    struct bgp_peer peer;
    struct bird_status bird = bird_of(&peer);
    bird.learned[BGP_IPV4] = 4;
    assert_learned(&bird, "bird-routes-stale at IPv4\n");
    bird.learned[BGP_IPV4] = 2;
    assert_learned(&bird, "bird-learned-part at IPv4\n");
    (void)strcpy(bird.kernel_limited[BGP_IPV4], "kernel4");
    assert_learned(&bird, "bird-import-limited at IPv4\n");
    bird.kernel_limited[BGP_IPV4][0] = '\0';
    bird.learned[BGP_IPV4] = 0;
    assert_learned(&bird, "bird-learned-none at IPv4\n");
    (void)strcpy(bird.kernel_down[BGP_IPV4], "kernel4");
    assert_learned(&bird, "bird-kernel-disabled at IPv4\n");
    (void)strcpy(bird.kernel_refuses[BGP_IPV4], "kernel4");
    assert_learned(&bird, "bird-imports-none at IPv4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_that_can_not_be_asked),
        cmocka_unit_test(routes_that_a_peer_does_not_get),
        cmocka_unit_test(routes_that_bird_has_not_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
