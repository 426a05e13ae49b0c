// SPDX-License-Identifier: Apache-2.0
/*
 * Parses BIRD's replies. bird.c sends commands and keeps the values.
 *
 * A line's code says what kind of line it is: 1002 opens a protocol, 1006 lines are about the
 * protocol opened last, 1007 is a route, a table's heading or a count, 1020 a BFD session. A 1006
 * line is "key: value"; its indentation changed between releases, so it is ignored. Lines that
 * follow a "Channel" line belong to the channel.
 *
 * Times are printed in BIRD's local time, and in one of three forms: both forms of the option
 * `timeformat protocol iso`, and the date alone that the short one turns into after 20 hours. BIRD
 * prints its current time in the same way, so that a difference needs no time zone.
 *
 * The reply is untrusted: every copy is truncated to its field, every number is checked.
 */
#include "client/bird/bird_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"

enum {
    CODE_READY = 1,
    CODE_VERSION = 1000,
    CODE_PROTOCOL = 1002,
    CODE_DETAIL = 1006,
    CODE_ROUTE = 1007,
    CODE_STATUS = 1011,
    CODE_BFD = 1020,
};

#define DAY_MS (24 * 60 * MINUTE_MS)

static const char blanks[] = " \t";

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, blanks);
}

static void copy(char *field, size_t size, const char *from, size_t length)
{
    size_t kept = MIN(length, size - 1);
    memcpy(field, from, kept);
    field[kept] = '\0';
}

/* Copies the next word; returns what follows it. */
static const char *take_word(const char *at, char *field, size_t size)
{
    at = skip_blanks(at);
    size_t length = strcspn(at, blanks);
    copy(field, size, at, length);
    return at + length;
}

/* Parses a number of digits only; `ret_rest` is what follows it. */
static bool take_number(const char *at, int64_t *ret_number, const char **ret_rest)
{
    at = skip_blanks(at);
    if (*at < '0' || *at > '9')
        return false;
    char *end;
    errno = 0;
    long long number = strtoll(at, &end, 10);
    if (errno != 0)
        return false;
    *ret_number = number;
    *ret_rest = end;
    return true;
}

/* The rest of `at` behind `word`, or NULL if it does not begin with it. */
static const char *after(const char *at, const char *word)
{
    size_t length = strlen(word);
    return strncmp(at, word, length) == 0 ? skip_blanks(at + length) : NULL;
}

bool bird_name_usable(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_.:-";
    size_t length = strspn(name, allowed);
    return length > 0 && length < BIRD_NAME_SIZE - 1 && name[length] == '\0';
}

static int64_t date_ms(int year, int month, int day)
{
    char date[64];
    int64_t ms;
    (void)snprintf(date, sizeof(date), "%04d-%02d-%02dT00:00:00Z", year, month, day);
    return clock_parse_rfc3339(date, &ms) < 0 ? -1 : ms;
}

/* "07:33:00"; a fraction is skipped. */
static int64_t time_of_day_ms(const char *at, const char **ret_rest)
{
    int hour, minute, second, length = 0;
    if (sscanf(at, "%2d:%2d:%2d%n", &hour, &minute, &second, &length) < 3 || length == 0)
        return -1;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return -1;
    at += length;
    if (*at == '.')
        at += 1 + strspn(at + 1, "0123456789");
    *ret_rest = at;
    return ((hour * 60 + minute) * 60 + second) * SECOND_MS;
}

int bird_parse_time(const char *string, int64_t now_ms, int64_t *ret_ms, const char **ret_rest)
{
    const char *at = skip_blanks(string);
    int year, month, day, length = 0;

    if (sscanf(at, "%4d-%2d-%2d%n", &year, &month, &day, &length) == 3 && length > 0) {
        int64_t date = date_ms(year, month, day);
        if (date < 0)
            return -EINVAL;
        *ret_rest = at + length;
        int64_t time = time_of_day_ms(skip_blanks(at + length), ret_rest);
        *ret_ms = date + MAX(time, 0);
        return 0;
    }
    int64_t time = time_of_day_ms(at, ret_rest);
    if (time < 0 || now_ms < 0)
        return -EINVAL;
    *ret_ms = now_ms - now_ms % DAY_MS + time;
    if (*ret_ms > now_ms + SECOND_MS)
        *ret_ms -= DAY_MS;
    return 0;
}

int bird_parse_greeting(const struct bird_reply *reply, struct bird_server *ret_server)
{
    const char *version = after(bird_reply_last(reply), "BIRD ");
    if (bird_reply_code(reply) != CODE_READY || !version)
        return -EPROTO;
    *ret_server = (struct bird_server){ .now_ms = -1 };
    (void)take_word(version, ret_server->version, sizeof(ret_server->version));
    return 0;
}

void bird_parse_status(const struct bird_reply *reply, struct bird_server *server)
{
    vec_each(const struct bird_line, line, &reply->lines) {
        const char *text = bird_reply_text(reply, line), *rest, *value;
        if (line->code == CODE_VERSION && (value = after(text, "BIRD ")))
            (void)take_word(value, server->version, sizeof(server->version));
        text = skip_blanks(text);
        if (line->code == CODE_STATUS && (value = after(text, "Current server time is")))
            (void)bird_parse_time(value, -1, &server->now_ms, &rest);
        if (line->code == CODE_STATUS && (value = after(text, "Last reconfiguration on")))
            copy(server->configured, sizeof(server->configured), value, strlen(value));
    }
}

/* "Established   " or "Active        Socket: No route to host": state, and perhaps an error. */
static void take_info(struct bird_protocol *protocol, const char *info)
{
    info = take_word(info, protocol->bgp_state, sizeof(protocol->bgp_state));
    info = skip_blanks(info);
    copy(protocol->last_error, sizeof(protocol->last_error), info, strlen(info));
}

static void open_protocol(struct bird_protocol *protocol, const char *at, int64_t now_ms)
{
    char table[BIRD_NAME_SIZE];
    *protocol = (struct bird_protocol){ .since_ms = -1, .hold_left_ms = -1, .hold_ms = -1 };
    at = take_word(at, protocol->name, sizeof(protocol->name));
    at = take_word(at, protocol->kind, sizeof(protocol->kind));
    at = take_word(at, table, sizeof(table));
    at = take_word(at, protocol->state, sizeof(protocol->state));
    const char *info;
    if (bird_parse_time(at, now_ms, &protocol->since_ms, &info) == 0 &&
        strcmp(protocol->kind, "BGP") == 0)
        take_info(protocol, info);
}

/* The channel to fill, or NULL if it is one that is skipped. */
static struct bird_channel *open_channel(struct bird_protocol *protocol, const char *name)
{
    struct bird_channel *channel = NULL;
    if (strcmp(name, "ipv4") == 0)
        channel = &protocol->channels[BIRD_IPV4];
    else if (strcmp(name, "ipv6") == 0)
        channel = &protocol->channels[BIRD_IPV6];
    if (channel)
        *channel = (struct bird_channel){
            .present = true, .imported = -1, .exported = -1, .exports = true
        };
    return channel;
}

/* "4 imported, 0 filtered, 3 exported, 4 preferred" */
static void take_routes(struct bird_channel *channel, const char *at)
{
    for (;;) {
        char word[16];
        int64_t number;
        if (!take_number(at, &number, &at))
            return;
        (void)take_word(at, word, sizeof(word));
        if (after(word, "imported"))
            channel->imported = number;
        else if (after(word, "exported"))
            channel->exported = number;
        at = strchr(at, ',');
        if (!at)
            return;
        at++;
    }
}

/* Counters that only increase. */
static bool is_count_of_changes(const char *text)
{
    return after(text, "Import updates:") || after(text, "Import withdraws:") ||
           after(text, "Export updates:") || after(text, "Export withdraws:");
}

/* FNV-1a: a collision gives an attacker nothing. */
static uint64_t stamp_with(uint64_t stamp, const char *text)
{
    stamp = stamp ? stamp : UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        stamp = (stamp ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return stamp;
}

/* "10.0.0.1", or two IPv6 addresses, of which the first is the global one. */
static void take_next_hop(struct bird_channel *channel, const char *value)
{
    char word[IP_STRLEN];
    (void)take_word(value, word, sizeof(word));
    if (ip_parse(word, &channel->next_hop) < 0)
        channel->next_hop = (struct ip){ 0 };
}

static void channel_detail(struct bird_channel *channel, const char *text)
{
    const char *value;
    if ((value = after(text, "Table:")))
        (void)take_word(value, channel->table, sizeof(channel->table));
    else if ((value = after(text, "Output filter:")))
        channel->exports = strcmp(value, "REJECT") != 0;
    else if ((value = after(text, "Input filter:")))
        channel->refuses = strcmp(value, "REJECT") == 0;
    else if ((value = after(text, "BGP Next hop:")))
        take_next_hop(channel, value);
    else if ((value = after(text, "Routes:")))
        take_routes(channel, value);
}

static void take_asn(const char *value, uint32_t *asn)
{
    const char *rest;
    int64_t number;
    if (take_number(value, &number, &rest) && number <= UINT32_MAX)
        *asn = (uint32_t)number;
}

/* "27.304/30", in seconds. */
static void take_hold_timer(struct bird_protocol *protocol, const char *value)
{
    int64_t left_s, hold_s;
    const char *at;
    if (!take_number(value, &left_s, &at) || left_s > DAY_MS)
        return;
    at = strchr(at, '/');
    if (!at || !take_number(at + 1, &hold_s, &at) || hold_s > DAY_MS)
        return;
    protocol->hold_left_ms = left_s * SECOND_MS;
    protocol->hold_ms = hold_s * SECOND_MS;
}

static void session_detail(struct bird_protocol *protocol, const char *text)
{
    const char *value;
    if ((value = after(text, "BGP state:")))
        (void)take_word(value, protocol->bgp_state, sizeof(protocol->bgp_state));
    else if ((value = after(text, "Neighbor address:")))
        (void)take_word(value, protocol->neighbor, sizeof(protocol->neighbor));
    else if (after(text, "Neighbor range:"))
        protocol->listens = true;
    else if ((value = after(text, "Neighbor AS:")))
        take_asn(value, &protocol->asn);
    else if ((value = after(text, "Local AS:")))
        take_asn(value, &protocol->local_asn);
    else if ((value = after(text, "Hold timer:")))
        take_hold_timer(protocol, value);
    else if ((value = after(text, "Last error:")))
        copy(protocol->last_error, sizeof(protocol->last_error), value, strlen(value));
}

/* What the following lines are about. */
struct scope {
    struct bird_protocol *protocol; /* NULL: one that is skipped */
    struct bird_channel *channel;   /* likewise */
    bool in_channel;
    bool *limit; /* of the channel: the limit that is reached and whose action follows; or NULL */
};

/* "Export limit: 3 [HIT]", and then its action: "warn" holds back no routes. */
static void limit_detail(struct scope *scope, const char *text)
{
    const bool exports = after(text, "Export limit:"),
               imports = after(text, "Import limit:") || after(text, "Receive limit:");
    const char *action = after(text, "Action:");
    if (exports || imports)
        scope->limit = !strstr(text, "[HIT]") ? NULL
                       : exports              ? &scope->channel->limited
                                              : &scope->channel->import_limited;
    else if (action && scope->limit && strcmp(action, "warn") != 0)
        *scope->limit = true;
}

static void take_detail(struct scope *scope, const char *text)
{
    text = skip_blanks(text);
    const char *channel = after(text, "Channel ");
    if (channel) {
        scope->in_channel = true;
        scope->limit = NULL;
        scope->channel = open_channel(scope->protocol, channel);
    } else if (scope->channel) {
        channel_detail(scope->channel, text);
        limit_detail(scope, text);
        if (is_count_of_changes(text))
            scope->protocol->stamp = stamp_with(scope->protocol->stamp, text);
    } else if (!scope->in_channel && strcmp(scope->protocol->kind, "BGP") == 0) {
        session_detail(scope->protocol, text);
    }
}

static bool is_read(const char *kind)
{
    return strcmp(kind, "BGP") == 0 || strcmp(kind, "Kernel") == 0 || strcmp(kind, "Device") == 0;
}

int bird_parse_protocols(const struct bird_reply *reply, int64_t now_ms, bird_protocol_list *list)
{
    struct scope scope = { 0 };
    vec_each(const struct bird_line, line, &reply->lines) {
        const char *text = bird_reply_text(reply, line);
        if (line->code == CODE_PROTOCOL) {
            struct bird_protocol protocol;
            scope = (struct scope){ 0 };
            open_protocol(&protocol, text, now_ms);
            if (!is_read(protocol.kind))
                continue;
            int r = vec_push(list, protocol);
            if (r < 0)
                return r;
            scope.protocol = &list->items[list->count - 1];
        } else if (line->code == CODE_DETAIL && scope.protocol) {
            take_detail(&scope, text);
        }
    }
    return 0;
}

int bird_parse_bfd(const struct bird_reply *reply, bird_bfd_list *list)
{
    vec_each(const struct bird_line, line, &reply->lines) {
        char address[IP_STRLEN], interface[16];
        struct bird_bfd session;
        if (line->code != CODE_BFD)
            continue;
        const char *at = take_word(bird_reply_text(reply, line), address, sizeof(address));
        at = take_word(at, interface, sizeof(interface));
        (void)take_word(at, session.state, sizeof(session.state));
        if (ip_parse(address, &session.address) < 0 || session.state[0] == '\0')
            continue;
        int r = vec_push(list, session);
        if (r < 0)
            return r;
    }
    return 0;
}

int bird_parse_count(const struct bird_reply *reply, int64_t *ret_count)
{
    int64_t sum = 0;
    bool found = false;
    vec_each(const struct bird_line, line, &reply->lines) {
        const char *rest;
        int64_t number;
        if (line->code != CODE_ROUTE ||
            !take_number(bird_reply_text(reply, line), &number, &rest) || !after(rest, " of "))
            continue;
        if (__builtin_add_overflow(sum, number, &sum))
            return -ENOENT;
        found = true;
    }
    if (!found)
        return -ENOENT;
    *ret_count = sum;
    return 0;
}

int bird_parse_networks(const struct bird_reply *reply, bird_prefix_list *list)
{
    vec_each(const struct bird_line, line, &reply->lines) {
        char word[PREFIX_STRLEN];
        struct prefix prefix;
        if (line->code != CODE_ROUTE)
            continue;
        (void)take_word(bird_reply_text(reply, line), word, sizeof(word));
        if (prefix_parse(word, &prefix) != 0)
            continue;
        int r = vec_push(list, prefix);
        if (r < 0)
            return r;
    }
    vec_sort(list, prefix_item_cmp);
    vec_drop_equal(list, prefix_item_cmp);
    return 0;
}
