// SPDX-License-Identifier: Apache-2.0
/*
 * Who answers on the wire: whether another machine has an address of this node's, and whether
 * neighbours that somebody has set for good (permanent, noarp) have the MAC address that is set.
 *
 * The kernel asks for neither: IPv4 knows no detection of duplicates, and a permanent entry is
 * believed. Packets to such a router or pod are lost, and nothing on this node shows it. So it is
 * asked for by ARP and neighbour discovery, with probes that change nobody's cache. Where this
 * machine answers itself, by another interface on the same network, nothing is wrong.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "apply/netlink/neighbour.h"
#include "apply/segment/segment_socket.h"
#include "base/clock.h"
#include "base/text.h"
#include "doctor/visit.h"
#include "plan/nat/nat_roles.h"

enum {
    WAIT_MS = 200,  /* for answers, on each interface */
    ASKED_MAX = 16, /* addresses of one interface */
    LINKS_MAX = 8,
};

/* An address that is asked for, and who shall answer: nobody but this node (`own`), or a MAC. */
struct asked {
    struct ip ip;
    uint8_t mac[6];
    bool own, done;
};

struct questions {
    struct asked items[ASKED_MAX];
    size_t count, own_count;
};

static void ask_for(struct questions *questions, const struct ip *ip, const uint8_t *mac)
{
    if (questions->count == ASKED_MAX)
        return;
    struct asked *asked = &questions->items[questions->count++];
    *asked = (struct asked){ .ip = *ip, .own = !mac };
    if (mac)
        memcpy(asked->mac, mac, sizeof(asked->mac));
    questions->own_count += asked->own;
}

/* The permanent neighbours of an interface; of an uplink its addresses, too. */
static void find_questions(const struct visit *visit, struct nl_socket *socket,
                           const struct link *link, bool uplink, struct questions *questions)
{
    AUTOVEC nl_neighbour_list neighbours = { 0 };
    (void)nl_neighbour_dump(socket, link->ifindex, false, &neighbours);
    vec_each(const struct nl_neighbour, neighbour, &neighbours) {
        if (nl_neighbour_is_set(neighbour))
            ask_for(questions, &neighbour->ip, neighbour->mac);
    }
    sorted_each(const struct link_address, address, kernel_link_addresses(visit->kernel)) {
        if (uplink && address->ifindex == link->ifindex && address->scope == 0)
            ask_for(questions, &address->ip, NULL);
    }
}

static bool is_of_this_machine(const struct visit *visit, const uint8_t mac[static 6])
{
    sorted_each(const struct link, link, kernel_links(visit->kernel)) {
        if (memcmp(link->mac, mac, sizeof(link->mac)) == 0)
            return true;
    }
    return false;
}

static void tell_twice(struct visit *visit, const struct link *link, const char *ip,
                       const char *mac)
{
    visit_fail(
        visit,
        "find that machine (the switch knows its port by the MAC address), and give one of the "
        "two another address",
        "%s of %s is another machine's as well: %s answers for it", ip, link->name, mac);
}

static void tell_wrong(struct visit *visit, const struct link *link, const struct asked *asked,
                       const char *ip, const char *mac)
{
    char set[LINK_MAC_STRLEN];
    AUTOFREE char *remedy =
        text_format("ip neigh del %s dev %s; and see who sets it", ip, link->name);
    visit_fail(visit, remedy, "neighbour %s of %s is set to %s for good, and %s answers for it", ip,
               link->name, link_mac_str(asked->mac, set), mac);
}

static void judge(struct visit *visit, const struct link *link, struct questions *questions,
                  const struct segment_claim *claim)
{
    char ip[IP_STRLEN], mac[LINK_MAC_STRLEN];
    for (size_t i = 0; i < questions->count && !claim->is_probe; i++) {
        struct asked *asked = &questions->items[i];
        if (asked->done || !ip_equal(&asked->ip, &claim->ip) ||
            is_of_this_machine(visit, claim->mac))
            continue;
        asked->done = true;
        ip_str(&asked->ip, ip);
        link_mac_str(claim->mac, mac);
        if (asked->own)
            tell_twice(visit, link, ip, mac);
        else if (memcmp(asked->mac, claim->mac, sizeof(asked->mac)) != 0)
            tell_wrong(visit, link, asked, ip, mac);
    }
}

static bool is_all_answered(const struct questions *questions)
{
    bool all = questions->own_count == 0;
    for (size_t i = 0; i < questions->count; i++)
        all &= questions->items[i].done;
    return all;
}

static void listen_for_answers(struct visit *visit, const struct link *link,
                               struct segment_socket *segment, struct questions *questions)
{
    const int64_t deadline_ms = clock_mono_ms() + WAIT_MS;
    struct pollfd poller = { .fd = segment_socket_fd(segment), .events = POLLIN };
    struct segment_claim claim;
    for (int64_t left_ms = WAIT_MS; left_ms > 0 && !is_all_answered(questions);
         left_ms = deadline_ms - clock_mono_ms()) {
        if (poll(&poller, 1, (int)left_ms) <= 0)
            return;
        while (segment_socket_receive(segment, &claim) > 0)
            judge(visit, link, questions, &claim);
    }
}

/* Returns 0 or -errno. */
static int ask(struct visit *visit, const struct link *link, struct questions *questions)
{
    CLEANUP(segment_socket_closep) struct segment_socket *segment = NULL;
    int r = segment_socket_open(link->ifindex, &segment);
    if (r < 0)
        return r;
    for (size_t i = 0; i < questions->count; i++) {
        r = segment_socket_send(segment, SEGMENT_PROBE, &questions->items[i].ip, link->mac);
        if (r < 0)
            return r;
    }
    listen_for_answers(visit, link, segment, questions);
    return 0;
}

static void check_neighbours(struct visit *visit)
{
    const struct link_facts facts = { .config = visit->config,
                                      .links = kernel_links(visit->kernel),
                                      .paths = kernel_paths(visit->kernel) };
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    size_t asked = 0;

    if (!visit->config || (!visit->config->services.enabled && !visit->config->egress.enabled)) {
        visit_skip(visit, "neither services nor egress is enabled");
        return;
    }
    if (nl_open_in(NL_HERE, NETLINK_ROUTE, &socket) < 0)
        return;
    sorted_each(const struct link, link, kernel_links(visit->kernel)) {
        const bool uplink = nat_is_uplink(&facts, link);
        struct questions questions = { 0 };
        if (!link->up || link->unplugged || !link_has_neighbours(link) || nat_is_own_link(link) ||
            (!uplink && !nat_is_pods(&facts, link)) || asked == LINKS_MAX)
            continue;
        find_questions(visit, socket, link, uplink, &questions);
        if (questions.count == 0)
            continue;
        asked++;
        if (ask(visit, link, &questions) == -EPERM) {
            visit_skip(visit, "only root may ask on the wire");
            return;
        }
    }
}

const struct check neighbour_checks[] = {
    { "neighbour.answers", "who answers on the wire",
      "for this node's addresses nobody else, for permanent neighbours these", check_neighbours },
    { NULL },
};
