// SPDX-License-Identifier: Apache-2.0
/*
 * A program around agent/segment/etcd_store.h and lease_store.h, for tests: does what the lines of
 * its standard input say.
 *
 *     claimant ENDPOINT[,ENDPOINT...] PREFIX [CA CERTIFICATE KEY]
 *     claimant ENDPOINT[,ENDPOINT...] PREFIX USER PASSWORD_FILE
 *     claimant /KUBECONFIG NAMESPACE
 *
 * A line is one of
 *
 *     watch
 *     read KEY
 *     create KEY HOLDER
 *     update KEY HOLDER VERSION
 *     remove KEY VERSION
 *
 * Each answer is a line of standard output, fields with tabs in between; so is what a watch tells:
 *
 *     told KEY OUTCOME HOLDER VERSION WATCHED WHY
 *     heard KEY HOLDER VERSION
 *     watching WHY
 *
 * WATCHED: whether all was seen to come and go. What is written over is what was read, heard or
 * written of the key last. The program ends when its input has.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/macro.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "client/kube/kubeconfig.h"
#include "segment/etcd_store.h"
#include "segment/lease_store.h"

enum { ANSWER_MS = 3000, LINE_MAX_LEN = 1024 };

struct known {
    char key[256];
    struct lease_record record;
};

struct claimant {
    sd_event *event;
    struct claim_store store;
    struct sorted known;
    int64_t written; /* no two writes are alike */
};

struct asked {
    struct claimant *claimant;
    char key[256];
    struct lease_record desired;
};

static int known_cmp(const void *a, const void *b)
{
    return strcmp(((const struct known *)a)->key, ((const struct known *)b)->key);
}

static const struct lease_record *known_of(const struct claimant *claimant, const char *key)
{
    struct known wanted = { 0 };
    (void)snprintf(wanted.key, sizeof(wanted.key), "%s", key);
    const struct known *found = sorted_find(&claimant->known, &wanted);
    return found ? &found->record : NULL;
}

static void note(struct claimant *claimant, const char *key, const struct lease_record *record)
{
    struct known known = { 0 };
    if (!record)
        return;
    (void)snprintf(known.key, sizeof(known.key), "%s", key);
    known.record = *record;
    (void)sorted_put(&claimant->known, &known);
}

static void on_told(void *context, const struct claim_answer *answer)
{
    static const char *const outcomes[] = { "done", "absent", "conflict", "failed" };
    CLEANUP(freep) struct asked *asked = context;
    if (answer->outcome == CLAIM_DONE)
        note(asked->claimant, asked->key, answer->record ? answer->record : &asked->desired);
    printf("told\t%s\t%s\t%s\t%s\t%d\t%s\t%lld\n", asked->key, outcomes[answer->outcome],
           answer->record ? answer->record->holder : "", answer->version,
           answer->since_ms != INT64_MAX, answer->why ? answer->why : "",
           (long long)answer->retry_after_ms);
    (void)fflush(stdout);
}

static void on_heard(void *context, const char *key, const struct lease_record *record,
                     const char *version)
{
    note(context, key, record);
    printf("heard\t%s\t%s\t%s\n", key, record ? record->holder : "", version);
    (void)fflush(stdout);
}

static void on_watching(void *context, const char *why, const char *remedy)
{
    (void)context, (void)remedy;
    printf("watching\t%s\n", why ? why : "");
    (void)fflush(stdout);
}

static int ask(struct claimant *claimant, const char *verb, const char *key, const char *holder,
               const char *version)
{
    const struct claim_store_ops *ops = claimant->store.ops;
    const struct lease_record desired = { .duration_s = 10,
                                          .acquired_wall_ms = 1000000000000,
                                          .renewed_wall_ms = 1000000000000 + claimant->written++ };
    struct claim_request *request;
    struct asked *asked = calloc(1, sizeof(*asked));
    if (!asked)
        return -ENOMEM;
    asked->claimant = claimant;
    asked->desired = desired;
    (void)snprintf(asked->key, sizeof(asked->key), "%s", key);
    (void)snprintf(asked->desired.holder, sizeof(asked->desired.holder), "%s", holder);
    const bool reads = strcmp(verb, "read") == 0;
    const struct claim_ask question = {
        .key = key,
        .desired = reads ? NULL : &asked->desired,
        .over = *version ? known_of(claimant, key) : NULL,
        .version = version,
        .limit_ms = ANSWER_MS,
        .told = on_told,
        .context = asked,
    };
    int (*asks)(void *, const struct claim_ask *, struct claim_request **) =
        reads                         ? ops->read
        : strcmp(verb, "create") == 0 ? ops->create
        : strcmp(verb, "remove") == 0 ? ops->remove
                                      : ops->update;
    int r = asks(claimant->store.data, &question, &request);
    if (r < 0)
        free(asked);
    return r;
}

static int obey(struct claimant *claimant, char *line)
{
    const struct claim_listener listener = { on_heard, on_watching, claimant };
    char *words[4] = { "", "", "", "" };
    for (size_t i = 0; i < ARRAY_SIZE(words) && line; i++)
        words[i] = strsep(&line, " \n");
    if (strcmp(words[0], "watch") == 0)
        return claimant->store.ops->watch(claimant->store.data, &listener);
    if (strcmp(words[0], "remove") == 0)
        return ask(claimant, words[0], words[1], "", words[2]);
    return ask(claimant, words[0], words[1], words[2], words[3]);
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct claimant *claimant = userdata;
    char line[LINE_MAX_LEN];
    (void)source, (void)fd, (void)events;
    if (!fgets(line, sizeof(line), stdin))
        return sd_event_exit(claimant->event, 0);
    int r = obey(claimant, line);
    return r < 0 ? sd_event_exit(claimant->event, 1) : 0;
}

static int open_etcd(struct claimant *claimant, char **arguments)
{
    AUTOVEC VEC(const char *) endpoints = { 0 };
    struct etcd_store_options options = { .prefix = arguments[1] };
    for (char *rest = arguments[0], *one; (one = strsep(&rest, ","));)
        if (vec_push(&endpoints, one) < 0)
            return -ENOMEM;
    options.where.endpoints = endpoints.items;
    options.where.endpoint_count = endpoints.count;
    if (arguments[2] && !arguments[4]) {
        options.where.user = arguments[2];
        options.where.password_file = arguments[3];
    } else if (arguments[2]) {
        options.where.ca_file = arguments[2];
        options.where.cert_file = arguments[3];
        options.where.key_file = arguments[4];
    }
    return etcd_store_new(claimant->event, &options, &claimant->store);
}

static int open_leases(struct claimant *claimant, char **arguments)
{
    AUTOFAULTS struct faults errors = { 0 };
    struct kube_config *config;
    int r = kube_config_load(arguments[0], &config, &errors);
    return r < 0 ? r : lease_store_new(claimant->event, config, arguments[1], &claimant->store);
}

static int run(struct claimant *claimant, char **arguments)
{
    int r =
        *arguments[0] == '/' ? open_leases(claimant, arguments) : open_etcd(claimant, arguments);
    if (r == 0)
        r = sd_event_add_io(claimant->event, NULL, STDIN_FILENO, EPOLLIN, on_input, claimant);
    return r < 0 ? r : sd_event_loop(claimant->event);
}

/* Without a buffer: what is polled for must not wait in one. */
int main(int count, char **arguments)
{
    struct claimant claimant = { .known = SORTED(struct known, known_cmp) };
    if (count != 3 && count != 5 && count != 6)
        return 2;
    (void)setvbuf(stdin, NULL, _IONBF, 0);
    int r = sd_event_new(&claimant.event);
    if (r >= 0)
        r = run(&claimant, arguments + 1);
    if (claimant.store.ops)
        claimant.store.ops->free(claimant.store.data);
    sorted_done(&claimant.known);
    sd_event_unref(claimant.event);
    return r < 0 ? 1 : r;
}
