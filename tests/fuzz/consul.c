// SPDX-License-Identifier: Apache-2.0
/*
 * Consul's list of entries on any bytes: what is told of small pieces, whose size the input's
 * length chooses, must be what is told of all at once. The same bytes as what Consul's agent
 * answers about services and checks.
 */
#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "client/consul/consul_agent.h"
#include "client/consul/consul_kv.h"
#include "fuzz.h"

static int note(void *context, const struct consul_entry *entry)
{
    struct text *told = context;
    MUST(*entry->key && entry->value[entry->length] == '\0');
    text_addf(told, "%s %s %llu ", entry->key, entry->session, (unsigned long long)entry->index);
    text_add_bytes(told, entry->value, entry->length);
    return 0;
}

static int read_pieces(const uint8_t *bytes, size_t size, size_t step, struct text *told)
{
    CLEANUP(consul_reader_freep) struct consul_reader *reader = consul_reader_new(note, told);
    int r = 0;
    MUST(reader);
    for (size_t at = 0; at < size && r == 0; at += step)
        r = consul_reader_push(reader, (const char *)bytes + at, MIN(step, size - at));
    MUST(r == 0 || r == -EBADMSG);
    return r;
}

static int note_service(void *context, const struct consul_agent_service *service)
{
    (void)context;
    MUST(*service->id && service->name && service->address);
    (void)consul_agent_has_tag(service, "t");
    MUST(consul_agent_meta(service, "m"));
    return 0;
}

static int note_check(void *context, const struct consul_agent_check *check)
{
    (void)context;
    MUST(check->service && check->status && check->output);
    return 0;
}

static void read_agent(const char *bytes, size_t size)
{
    int r = consul_agent_read_services(bytes, size, note_service, NULL);
    MUST(r == 0 || r == -EBADMSG);
    r = consul_agent_read_checks(bytes, size, note_check, NULL);
    MUST(r == 0 || r == -EBADMSG);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTOTEXT struct text whole = { 0 }, pieces = { 0 }, reason = { 0 };
    AUTOFREE char *text = strndup((const char *)bytes, size);
    if (size == 0)
        return 0;
    MUST(read_pieces(bytes, size, size, &whole) ==
         read_pieces(bytes, size, 1 + size % 31, &pieces));
    MUST(whole.length == pieces.length);
    MUST(whole.length == 0 || memcmp(whole.data, pieces.data, whole.length) == 0);
    MUST(text);
    consul_txn_reason(text, strlen(text), &reason);
    MUST(reason.length > 0);
    read_agent(text, strlen(text));
    return 0;
}
