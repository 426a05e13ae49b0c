// SPDX-License-Identifier: Apache-2.0
/*
 * Faults of the host that touch addresses; see host_faults.h. A fault's group says what it is of:
 * the table below has the groups of NAT that, while they have a fault, drop or misdirect what
 * clients outside send to any service address, or what they are answered. Faults that name one
 * Service, pod or address are not here: their place says whose they are.
 *
 * Such a fault is of one family, by a word in its place or message (IPv4, ipv4), or by an address
 * in its message; one that says neither is of both.
 */
#include "api/host_faults.h"

#include <string.h>
#include <strings.h>

#include "base/macro.h"

static const char *const groups[] = { "answers", "firewall", "host", "nat", "own ways", "routers" };

/* Families have bits: IPv4 1, IPv6 2. */
static unsigned named_families(const char *text)
{
    return (strcasestr(text, "ipv4") ? 1U : 0) | (strcasestr(text, "ipv6") ? 2U : 0);
}

/* Of the words of a text that are addresses. */
static unsigned families_of_addresses(const char *text)
{
    unsigned families = 0;
    while (*text) {
        const size_t length = strspn(text, "0123456789abcdefABCDEF.:");
        char word[IP_STRLEN];
        struct ip ip;
        if (length > 0 && length < sizeof(word)) {
            memcpy(word, text, length);
            word[length] = '\0';
            if (ip_parse(word, &ip) == 0)
                families |= ip.family == IP_V6 ? 2 : 1;
        }
        text += length ? length : 1;
    }
    return families;
}

static bool is_of_family(const struct known_fault *fault, uint8_t family)
{
    unsigned families = named_families(fault->place);
    if (!families)
        families = named_families(fault->message);
    if (!families)
        families = families_of_addresses(fault->message);
    return !families || families & (family == IP_V6 ? 2U : 1U);
}

/* The next one from `cursor` on; NULL: no further. */
static const struct known_fault *next(const struct api_state *state, const struct ip *address,
                                      size_t *cursor)
{
    const struct fault_book *book = state->status->faults;
    while (*cursor < fault_book_count(book)) {
        const struct known_fault *fault = fault_book_at(book, (*cursor)++);
        if (strcmp(fault->subsystem, "services") != 0)
            continue;
        for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
            if (strcmp(fault->group, groups[i]) == 0 && is_of_family(fault, address->family))
                return fault;
        }
    }
    return NULL;
}

void write_host_faults(struct json *json, const struct api_state *state, const struct ip *address)
{
    const struct known_fault *fault;
    size_t cursor = 0;
    json_begin_array(json, "hostFaults");
    while (address && (fault = next(state, address, &cursor)))
        write_known_fault(json, state->status->faults, fault);
    json_end_array(json);
}

void write_host_fault_places(struct json *json, const struct api_state *state,
                             const struct ip *address, bool is_served)
{
    const struct known_fault *fault;
    size_t cursor = 0;
    if (!state->installed)
        return;
    json_begin_array(json, "hostFaults");
    while (is_served && (fault = next(state, address, &cursor)))
        json_string(json, NULL, fault->place);
    json_end_array(json);
}
