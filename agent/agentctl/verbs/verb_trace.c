// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl trace SRC DST`: what becomes of one packet, told as a story: where it comes in, which
 * program sees it, what it decides and why, where a new flow may go.
 *
 * Whatever the verdict, the exit status is EXIT_OK: the question was answered. What is wrong with
 * the question is EXIT_USAGE, with the argument and the reason; an interface that the node does
 * not have is found by the agent, whose HTTP 400 means the same.
 */
#include <ctype.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "agentctl/answer.h"
#include "agentctl/explain/explain_faults.h"
#include "agentctl/field.h"
#include "agentctl/output.h"
#include "base/net/ip.h"
#include "base/net/protocol.h"

enum { PLACE_LEN = 80 };

struct place {
    struct ip ip;
    uint16_t port;
};

static int bad(const char *name, const char *word, const char *reason)
{
    fprintf(stderr, "agentctl: %s '%s': %s\n", name, word, reason);
    return EXIT_USAGE;
}

/* A place that is none: for its port alone, or altogether? */
static const char *reason_of(const char *word, const char *otherwise)
{
    const char *colon = strrchr(word, ':');
    char address[PLACE_LEN];
    struct place place;

    if (!colon || (size_t)(colon - word) >= sizeof(address))
        return otherwise;
    (void)snprintf(address, sizeof(address), "%.*s", (int)(colon - word), word);
    if (ip_port_parse(address, &place.ip, &place.port) < 0 || place.port != 0)
        return otherwise;
    return "a port is 1 to 65535";
}

static int parse_source(const char *word, struct place *ret)
{
    if (ip_port_parse(word, &ret->ip, &ret->port) < 0)
        return bad(
            "SRC", word,
            reason_of(word, "not ADDRESS or ADDRESS:PORT, such as 10.0.0.1 or [fd00::1]:5000"));
    return EXIT_OK;
}

/* Of a ping: an address without a port. */
static int parse_pinged(const char *word, const char *slash, struct place *ret)
{
    char address[PLACE_LEN];

    if ((size_t)(slash - word) >= sizeof(address))
        return bad("DST", word, "too long");
    (void)snprintf(address, sizeof(address), "%.*s", (int)(slash - word), word);
    if (ip_port_parse(address, &ret->ip, &ret->port) < 0 || ret->port != 0)
        return bad("DST", word, "of ICMP it is ADDRESS/ICMP, without a port");
    return EXIT_OK;
}

static int parse_destination(const char *word, struct place *ret, enum protocol *ret_protocol)
{
    const char *slash = strrchr(word, '/');
    const size_t length = slash ? (size_t)(slash - word) : strlen(word);
    char place[PLACE_LEN];

    *ret_protocol = PROTOCOL_TCP;
    if (slash && strcasecmp(slash + 1, protocol_name(PROTOCOL_ICMP)) == 0) {
        *ret_protocol = PROTOCOL_ICMP;
        return parse_pinged(word, slash, ret);
    }
    if (slash && protocol_parse(slash + 1, ret_protocol) < 0)
        return bad("DST", word, "the protocol is none of TCP, UDP, SCTP and ICMP");
    if (length >= sizeof(place))
        return bad("DST", word, "too long");
    (void)snprintf(place, sizeof(place), "%.*s", (int)length, word);
    if (ip_port_parse(place, &ret->ip, &ret->port) < 0)
        return bad("DST", word,
                   reason_of(place, "not ADDRESS:PORT, such as 10.96.0.10:80 or [fd00::1]:80"));
    return EXIT_OK;
}

/* The first port that a Service has at an address without one, of the protocol if that was named.
 */
static int find_port(const struct ctl *ctl, const char *word, bool named, struct place *place,
                     enum protocol *protocol)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text path = { 0 };
    char address[IP_STRLEN];

    text_addf(&path, "/v1/explain?address=%s", ip_str(&place->ip, address));
    if (answer_try(ctl, text_str(&path), ctl->timeout_ms, NULL, &answer) == 0) {
        doc_each(frontend, doc_get(doc_get(answer.root, "nat"), "frontends")) {
            enum protocol found;
            if (protocol_parse(field(frontend, "protocol"), &found) < 0 ||
                (named && found != *protocol))
                continue;
            *protocol = found;
            place->port = (uint16_t)field_int(frontend, "port");
            return EXIT_OK;
        }
    }
    return bad(
        "DST", word,
        "no port; no Service has one there; an IPv6 address stands in brackets before it; of a "
        "ping: ADDRESS/ICMP");
}

/* As the kernel takes names of interfaces. */
static int check_interface(const char *name)
{
    const size_t length = strlen(name);
    bool good =
        length > 0 && length < IF_NAMESIZE && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;

    for (const char *c = name; *c; c++)
        good &= *c != '/' && *c != ':' && !isspace((unsigned char)*c);
    return good ? EXIT_OK : bad("--in", name, "neither the name of an interface nor host");
}

static void add_encoded(struct text *out, const char *value)
{
    for (; *value; value++) {
        if (isalnum((unsigned char)*value) || strchr("-._~", *value))
            text_add_char(out, *value);
        else
            text_addf(out, "%%%02X", (unsigned char)*value);
    }
}

static void add_place(struct text *out, const char *key, const struct place *place)
{
    AUTOTEXT struct text value = { 0 };
    char address[IP_STRLEN];

    (void)ip_str(&place->ip, address);
    if (place->port == 0)
        text_add(&value, address);
    else
        text_addf(&value, place->ip.family == IP_V6 ? "[%s]:%u" : "%s:%u", address, place->port);
    text_addf(out, "%s=", key);
    add_encoded(out, text_str(&value));
}

static int write_path(const struct ctl *ctl, char **args, struct text *path)
{
    struct place source, destination;
    enum protocol protocol;

    int r = parse_source(args[0], &source);
    if (r == EXIT_OK)
        r = parse_destination(args[1], &destination, &protocol);
    if (r == EXIT_OK && destination.port == 0 && protocol != PROTOCOL_ICMP)
        r = find_port(ctl, args[1], strchr(args[1], '/'), &destination, &protocol);
    if (r == EXIT_OK && source.ip.family != destination.ip.family)
        r = bad("DST", args[1], "not of the family of SRC");
    if (r == EXIT_OK && ctl->in)
        r = check_interface(ctl->in);
    if (r != EXIT_OK)
        return r;
    add_place(path, "/v1/trace?source", &source);
    add_place(path, "&destination", &destination);
    text_addf(path, "&protocol=%s", protocol_name(protocol));
    if (ctl->in) {
        text_add(path, "&in=");
        add_encoded(path, ctl->in);
    }
    return EXIT_OK;
}

/* The verdict on the packet as a whole: egress comes behind service NAT, and may drop it. */
static void add_verdict(struct text *out, const struct ctl *ctl, const struct doc *trace)
{
    const struct doc *egress = doc_get(trace, "egress");
    const bool dropped = egress && field_is(egress, "verdict", "drop");
    const struct doc *judge = dropped ? egress : trace;
    add_state(out, ctl, field(judge, "verdict"), 0);
    if (!field_is(judge, "reason", "none"))
        text_addf(out, ", %s", field(judge, "reasonText"));
    else if (egress && field_is(egress, "verdict", "forward"))
        text_add(out, field_is(egress, "side", "client") ? ", to a gateway" : ", by this gateway");
}

/* Whether a port was found by us: an address was given, bare IPv6 ones have colons, too. */
static bool lacks_port(const char *word)
{
    struct ip ip;
    const char *slash = strrchr(word, '/');
    AUTOFREE char *address = strndup(word, strcspn(word, "/"));
    const bool ping = slash && strcasecmp(slash + 1, protocol_name(PROTOCOL_ICMP)) == 0;
    return !ping && address && ip_parse(address, &ip) == 0;
}

/* `asked`: the destination as it was given. */
static void add_story(struct text *out, const struct ctl *ctl, const struct doc *trace,
                      const char *asked)
{
    text_addf(out, "%s -> %s/%s: ", field(trace, "source"), field(trace, "destination"),
              field(trace, "protocol"));
    add_verdict(out, ctl, trace);
    text_add_char(out, '\n');
    if (lacks_port(asked))
        text_add(out, "  port      the first that a Service has there, since none was named\n");
    else if (!strchr(asked, '/'))
        text_add(out, "  protocol  TCP, since none was named; /UDP or /SCTP behind the port\n");
    doc_each(step, doc_get(trace, "steps")) {
        text_addf(out, "  %-10s", field(step, "step"));
        add_clean(out, field(step, "text"));
        text_add_char(out, '\n');
    }
    (void)add_host_faults(out, ctl, trace);
}

int verb_trace(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text out = { 0 }, path = { 0 };

    int r = write_path(ctl, args, &path);
    if (r != EXIT_OK)
        return r;
    if (ctl->json)
        return answer_print(ctl, text_str(&path));
    r = answer_get(ctl, text_str(&path), &answer);
    if (r != EXIT_OK)
        return r;
    add_story(&out, ctl, answer.root, args[1]);
    return print_lines(&out, EXIT_OK);
}
