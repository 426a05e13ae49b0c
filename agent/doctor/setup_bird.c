// SPDX-License-Identifier: Apache-2.0
/*
 * What BIRD needs beside what it has:
 *
 *     unix sockets called bird.ctl     where BIRD listens, and what it has: a protocol device, of
 *                                      which there may be one; sessions to the default route's
 *                                      gateway, and with them both AS numbers
 *     default routes                   the neighbor of the sessions that are made
 *
 * The lines go into a file of their own, which BIRD's configuration includes; that configuration is
 * the operator's. So a session of the operator's stays, and a comment says what it lacks. What this
 * file made before is known by its names (ours below), so that a second run makes the same lines.
 */
#include "doctor/setup_bird.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/file.h"
#include "doctor/ask_bird.h"
#include "doctor/setup.h"

enum {
    PROC_MAX = 16 << 20,
    ANSWER_MS = 2000,
};

const char setup_fingerpost_conf[] =
#include "doctor/fingerpost.conf.h"
    ;
const char setup_classes_conf[] =
#include "doctor/classes.conf.h"
    ;

static const char ours[] = "fingerpost_";
static const char *const versions[BIRD_FAMILIES] = { "4", "6" };

void setup_bird_done(struct setup_bird *bird)
{
    free(bird->socket);
}

static void find_gateway_v4(struct ip *gateway)
{
    AUTOFREE char *routes = NULL;
    unsigned destination, via, mask;
    size_t size;

    if (file_read("/proc/net/route", PROC_MAX, &routes, &size) < 0)
        return;
    for (char *rest = routes, *line; (line = strsep(&rest, "\n"));) {
        if (sscanf(line, "%*s %x %x %*x %*d %*d %*d %x", &destination, &via, &mask) != 3 ||
            destination != 0 || mask != 0 || via == 0)
            continue;
        *gateway = (struct ip){ .family = IP_V4 };
        memcpy(gateway->bytes, &via, sizeof(via));
    }
}

static void find_gateway_v6(struct ip *gateway)
{
    AUTOFREE char *routes = NULL;
    char text[40] = "";
    size_t size;

    if (file_read("/proc/net/ipv6_route", PROC_MAX, &routes, &size) < 0)
        return;
    for (char *rest = routes, *line; (line = strsep(&rest, "\n"));) {
        struct ip ip = { .family = IP_V6 };
        if (sscanf(line, "%*32c 00 %*32c 00 %32s", text) != 1 ||
            strncmp(line, "00000000000000000000000000000000 00", 35) != 0 ||
            strspn(text, "0") == 32)
            continue;
        for (size_t i = 0; i < sizeof(ip.bytes); i++) {
            const char digits[] = { text[2 * i], text[2 * i + 1], '\0' };
            ip.bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
        }
        *gateway = ip;
    }
}

static int find_socket(struct setup_bird *bird)
{
    AUTOFREE char *sockets = NULL;
    size_t size;

    if (file_read("/proc/net/unix", PROC_MAX, &sockets, &size) < 0)
        return 0;
    char *rest = sockets;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const char *path = strchr(line, '/');
        const size_t length = path ? strlen(path) : 0;
        if (length < 9 || strcmp(path + length - 9, "/bird.ctl") != 0 || access(path, F_OK) < 0)
            continue;
        bird->socket = strdup(path);
        return bird->socket ? 0 : -ENOMEM;
    }
    return 0;
}

static bool is_ours(const char *name)
{
    return strncmp(name, ours, sizeof(ours) - 1) == 0;
}

/* What a line of `show protocols all` says that is not read elsewhere. */
static void take_line(struct setup_bird *bird, const char *line)
{
    char name[BIRD_NAME_SIZE], kind[16];
    unsigned asn;

    if (sscanf(line, "%65s %15s", name, kind) == 2 && strcmp(kind, "Device") == 0 && !is_ours(name))
        bird->device = true;
    const char *local = strstr(line, "Local AS:");
    if (local && sscanf(local, "Local AS: %u", &asn) == 1)
        bird->asn = asn;
}

static void take_session(struct setup_bird *bird, const struct bird_protocol *session)
{
    struct ip neighbor;

    if (strcmp(session->kind, "BGP") != 0 || session->listens ||
        ip_parse(session->neighbor, &neighbor) < 0)
        return;
    for (int family = 0; family < BIRD_FAMILIES; family++) {
        if (!ip_equal(&bird->gateways[family], &neighbor))
            continue;
        bird->peer_asn = session->asn;
        if (!is_ours(session->name))
            bird->sessions[family] = *session;
    }
}

static void ask(struct setup_bird *bird)
{
    CLEANUP(bird_asker_closep) struct bird_asker *asker = NULL;
    AUTOVEC bird_protocol_list protocols = { 0 };
    const struct bird_reply *reply;

    if (bird_asker_open(bird->socket, ANSWER_MS, &asker) < 0 ||
        bird_ask(asker, "show protocols all", &reply) < 0 ||
        bird_parse_protocols(reply, 0, &protocols) < 0)
        return;
    vec_each(const struct bird_line, line, &reply->lines)
        take_line(bird, bird_reply_text(reply, line));
    vec_each(const struct bird_protocol, protocol, &protocols)
        take_session(bird, protocol);
    bird->withdraws = bird_unit_withdraws(bird_asker_pid(asker), bird->unit) > 0;
}

int setup_find_bird(struct setup_bird *bird)
{
    find_gateway_v4(&bird->gateways[BIRD_IPV4]);
    find_gateway_v6(&bird->gateways[BIRD_IPV6]);
    int r = find_socket(bird);
    if (r < 0)
        return r;
    if (bird->socket)
        ask(bird);
    return 0;
}

/* An AS number that is given or seen; else a line to be filled in. */
static void add_number(struct text *out, const char *name, uint32_t given, uint32_t seen,
                       const char *whose)
{
    const uint32_t number = given ? given : seen;

    if (number)
        text_addf(out, "define %s = %u;  # %s\n", name, number, whose);
    else
        text_addf(out, "#define %s = N;  # %s: fill it in\n", name, whose);
}

static void add_channel(struct text *out, int family)
{
    text_addf(out,
              "ipv%s { table fingerpost%s; import none; export filter fingerpost_export; next hop "
              "self; };\n",
              versions[family], versions[family]);
}

static void add_own_session(struct text *out, const struct ip *gateway, int family)
{
    char text[IP_STRLEN];

    text_addf(out,
              "\nprotocol bgp fingerpost_tor%s {\n"
              "\tlocal as NODE_ASN;\n"
              "\tneighbor %s as TOR_ASN;  # the default route's gateway\n"
              "\tconnect delay time 1;\n"
              "\terror wait time 1, 30;\n"
              "\thold time 30;\n"
              "\tgraceful restart on;\n\t",
              versions[family], ip_str(gateway, text));
    add_channel(out, family);
    text_add(out, "}\n");
}

static bool is_link_local(const struct ip *ip)
{
    return ip->family == IP_V6 && ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;
}

static void add_session(struct text *out, const struct setup_bird *bird, int family)
{
    const struct bird_protocol *session = &bird->sessions[family];
    const struct ip *gateway = &bird->gateways[family];
    const char *table = session->channels[family].table;
    char text[IP_STRLEN];

    if (gateway->family == IP_NONE) {
        text_addf(out, "\n# No default route of IPv%s, so no neighbor of it is known.\n",
                  versions[family]);
    } else if (session->name[0] && strncmp(table, "fingerpost", 10) == 0) {
        text_addf(out, "\n# BIRD's session %s to %s sends table %s already.\n", session->name,
                  session->neighbor, table);
    } else if (session->name[0]) {
        text_addf(out, "\n# BIRD has a session to %s, %s. Give it this channel:\n#     ",
                  session->neighbor, session->name);
        add_channel(out, family);
    } else if (is_link_local(gateway)) {
        text_addf(
            out,
            "\n# The IPv6 gateway is %s, of one link only: no session is made. If the router\n"
            "# takes one from there: neighbor %s %% 'INTERFACE' as TOR_ASN;\n",
            ip_str(gateway, text), text);
    } else {
        add_own_session(out, gateway, family);
    }
}

void setup_compose_bird(const struct setup_bird *bird, const struct setup_numbers *numbers,
                        struct text *out)
{
    char text[IP_STRLEN];

    text_add(out, "# Made by agentctl setup: what BIRD 2 needs beside what it has. Its own\n"
                  "# configuration includes this file; birdc configure loads it.\n\n");
    add_number(out, "NODE_ASN", numbers->asn, bird->asn, "this node's AS number");
    add_number(out, "TOR_ASN ", numbers->peer_asn, bird->peer_asn, "the router's");
    if (numbers->router_id.family == IP_NONE)
        text_add(out, "\n# No IPv4 address leads out: router id has to be given by hand.\n");
    else
        text_addf(out, "\nrouter id %s;\n", ip_str(&numbers->router_id, text));
    text_addf(out,
              "\ndefine FINGERPOST_TABLE = %u;\n"
              "define FINGERPOST_ASN = NODE_ASN;\n"
              "define FINGERPOST_BLOCK = (TOR_ASN, 30);\n"
              "define FINGERPOST_SERVICE = (TOR_ASN, 31);\n"
              "include \"fingerpost.conf\";\n\n",
              numbers->table);
    text_add(out, bird->device ? "# BIRD has a protocol device already; there may be one.\n"
                               : "protocol device fingerpost_device { scan time 10; }\n");
    for (int family = 0; family < BIRD_FAMILIES; family++)
        add_session(out, bird, family);
}
