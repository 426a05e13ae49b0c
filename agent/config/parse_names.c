// SPDX-License-Identifier: Apache-2.0
/*
 * Parsers of names that belong to other systems: Kubernetes' labels, classes and namespaces,
 * Consul's datacenters, hosts with ports in addresses. A name that the other side could never have
 * is refused here, where file and line are known; it would match nothing, and nobody would say so.
 */
#include "config/parse.h"

#include <string.h>

#define LOWER  "abcdefghijklmnopqrstuvwxyz0123456789"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

enum { LABEL_MAX = 63, DOMAIN_MAX = 253 };

/* Of these letters, and begun and ended by none of `inside`. */
static bool is_made_of(const char *text, size_t length, size_t max, const char *letters,
                       const char *inside)
{
    return length > 0 && length <= max && strspn(text, letters) >= length &&
           !strchr(inside, text[0]) && !strchr(inside, text[length - 1]);
}

bool parse_is_namespace(const char *text)
{
    return is_made_of(text, strlen(text), LABEL_MAX, LOWER "-", "-");
}

bool parse_is_domain(const char *text)
{
    const char *end = text + strlen(text);
    for (const char *part = text; part <= end; part += strcspn(part, ".") + 1) {
        if (!is_made_of(part, strcspn(part, "."), LABEL_MAX, LOWER "-", "-"))
            return false;
    }
    return end - text <= DOMAIN_MAX;
}

static bool is_label_value(const char *text)
{
    return !*text || is_made_of(text, strlen(text), LABEL_MAX, LOWER UPPER "-_.", "-_.");
}

/* "example.com/lb" or "lb", as the API takes classes of load balancers. */
static bool is_class(const char *text)
{
    const char *slash = strchr(text, '/');
    if (!slash)
        return is_label_value(text);
    return is_made_of(text, (size_t)(slash - text), DOMAIN_MAX, LOWER "-.", "-.") && slash[1] &&
           is_label_value(slash + 1);
}

/* Of a datacenter, namespace or partition; without one Consul takes its own. */
static bool is_consul_name(const char *text)
{
    return !*text || is_made_of(text, strlen(text), LABEL_MAX, LOWER UPPER "-_", "");
}

void parse_class(struct parse *parse, const struct config_key *key, const struct doc *node,
                 void *field)
{
    (void)key;
    parse_checked(parse, node, field, is_class,
                  "the class of load balancers, such as example.com/lb");
}

void parse_label_value(struct parse *parse, const struct config_key *key, const struct doc *node,
                       void *field)
{
    (void)key;
    parse_checked(parse, node, field, is_label_value,
                  "a label's value (letters, digits, dots, dashes and underscores)");
}

void parse_consul_name(struct parse *parse, const struct config_key *key, const struct doc *node,
                       void *field)
{
    (void)key;
    parse_checked(parse, node, field, is_consul_name,
                  "a name of Consul's (letters, digits, dashes and underscores)");
}

static bool is_port(const char *text)
{
    const size_t length = strlen(text);
    unsigned port = 0;
    if (length == 0 || length > 5 || strspn(text, DIGITS) < length)
        return false;
    for (; *text; text++)
        port = port * 10 + (unsigned)(*text - '0');
    return port > 0 && port <= UINT16_MAX;
}

bool parse_is_host(const char *text)
{
    const char *end = *text == '[' ? strchr(text, ']') : NULL;
    const char *colon = strchr(end ? end : text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    if (*text == '[')
        return end && length == (size_t)(end + 1 - text) && (!colon || is_port(colon + 1));
    return is_made_of(text, length, DOMAIN_MAX, LOWER UPPER "-_.", "-.") &&
           (!colon || is_port(colon + 1));
}
