// SPDX-License-Identifier: Apache-2.0
/*
 * Asking the agent, and what is said when that fails.
 *
 * All verbs that talk to the agent come through here, so that there is one sentence and one exit
 * status for each way in which it can fail. The document is parsed by the same reader as
 * manifests; --json prints the body itself, which then is not parsed at all: a list of 100,000
 * routes passes through, and what an exit status depends on is looked up in the text.
 */
#include "agentctl/answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentctl/field.h"
#include "agentctl/output.h"
#include "client/agent.h"
#include "format/json_text.h"
#include "format/reader.h"

static int answer_parse(struct answer *answer)
{
    AUTOFAULTS struct faults faults = { 0 };

    int r = document_parse(answer->body, strlen(answer->body), "answer", READER_JSON,
                           &answer->document, &faults);
    if (r < 0)
        return r;
    if (r == 0 || answer->document->root->type != DOC_MAP)
        return -EPROTO;
    answer->root = answer->document->root;
    return 0;
}

static int answer_check(long status, struct answer *answer)
{
    int r = answer_parse(answer);
    if (status != 200)
        return -EREMOTEIO;
    return r == -EBADMSG ? -EPROTO : r;
}

int answer_try(const struct ctl *ctl, const char *path, int64_t timeout_ms, long *ret_status,
               struct answer *ret)
{
    long status = 0;

    int r = agent_get(ctl->socket, path, timeout_ms, &status, &ret->body);
    if (r < 0)
        return r;
    if (ret_status)
        *ret_status = status;
    return answer_check(status, ret);
}

/* Its version, as it says; "" if it does not. */
static const char *version_of(const struct ctl *ctl, char *buffer, size_t size)
{
    AUTOANSWER struct answer answer = { 0 };
    long status = 0;
    *buffer = '\0';
    if (agent_get(ctl->socket, ctl->server->status_path, ctl->timeout_ms, &status, &answer.body) ==
            0 &&
        status == 200)
        (void)answer_word(&answer, "version", buffer, size);
    return buffer;
}

/* No object is missing: what is asked for is not known there at all. */
static int path_unknown(const struct ctl *ctl)
{
    char version[32];
    (void)version_of(ctl, version, sizeof(version));
    fprintf(
        stderr,
        "agentctl: the %s at %s (version %s) knows no answer to this; agentctl is " FINGERPOST_VERSION
        "\n",
        ctl->server->name, ctl->socket, *version ? version : "unknown");
    fprintf(stderr,
            "agentctl: have both of one version, and restart %s; see: systemctl status %s\n",
            ctl->server->unit, ctl->server->unit);
    return EXIT_FAILED;
}

static bool is_path_unknown(long status, const struct answer *answer)
{
    return status == 404 && answer->root && field_is(answer->root, "error", "no such path");
}

static int remote_failed(const struct ctl *ctl, long status, const struct answer *answer)
{
    if (is_path_unknown(status, answer))
        return path_unknown(ctl);
    if (answer->root && doc_get(answer->root, "error"))
        fprintf(stderr, "agentctl: %s\n", field(answer->root, "error"));
    else
        fprintf(stderr, "agentctl: the %s at %s answered with HTTP status %ld\n", ctl->server->name,
                ctl->socket, status);
    switch (status) {
    case 400:
        return EXIT_USAGE;
    case 403:
        return EXIT_PERMISSION;
    case 404:
        return EXIT_UNKNOWN;
    default:
        return EXIT_FAILED;
    }
}

/* What an operator wants to know first is whether traffic goes on. */
void answer_without(const struct ctl *ctl)
{
    fprintf(stderr, "agentctl: %s; see: systemctl status %s%s\n", ctl->server->without,
            ctl->server->unit, ctl->server == &server_agent ? ", agentctl doctor" : "");
}

static int unreachable(const struct ctl *ctl)
{
    answer_without(ctl);
    return EXIT_UNREACHABLE;
}

const char *answer_why(int error)
{
    switch (error) {
    case -ENOENT:
        return "no such file";
    case -ECONNREFUSED:
        return "nobody answers there";
    case -ECONNRESET:
        return "it hangs up";
    case -ETIMEDOUT:
        return "it says nothing";
    case -EREMOTEIO:
        return "it knows no answer to this";
    case -EPROTO:
        return "what answers is not the agent";
    default:
        return strerror(-error);
    }
}

static int nobody_there(const struct ctl *ctl, const char *how)
{
    fprintf(stderr, "agentctl: cannot reach the %s at %s: %s (is %s.service running?)\n",
            ctl->server->name, ctl->socket, how, ctl->server->unit);
    return unreachable(ctl);
}

int answer_failed(const struct ctl *ctl, int error, long status, const struct answer *answer)
{
    char limit[CLOCK_STRLEN];

    switch (error) {
    case -EREMOTEIO:
        return remote_failed(ctl, status, answer);
    case -ENOENT:
    case -ECONNREFUSED:
        return nobody_there(ctl, answer_why(error));
    case -ECONNRESET:
        fprintf(stderr,
                "agentctl: the %s at %s hung up without an answer: it ends, or does not start\n",
                ctl->server->name, ctl->socket);
        return unreachable(ctl);
    case -ETIMEDOUT:
        fprintf(
            stderr,
            "agentctl: cannot reach the %s at %s: no answer within %s (--timeout): it is busy, or hangs\n",
            ctl->server->name, ctl->socket, clock_ago(ctl->timeout_ms, limit));
        return unreachable(ctl);
    case -EACCES:
        fprintf(stderr,
                "agentctl: cannot reach the %s at %s: permission denied "
                "(root and group fingerpost may)\n",
                ctl->server->name, ctl->socket);
        return EXIT_PERMISSION;
    case -EPROTO:
        fprintf(stderr,
                "agentctl: what answers at %s is not the %s; see who it is: ss -xlp src %s\n",
                ctl->socket, ctl->server->name, ctl->socket);
        return EXIT_FAILED;
    default:
        fprintf(stderr, "agentctl: cannot ask the %s at %s: %s\n", ctl->server->name, ctl->socket,
                strerror(-error));
        return EXIT_FAILED;
    }
}

int answer_get(const struct ctl *ctl, const char *path, struct answer *ret)
{
    long status = 0;

    int r = answer_try(ctl, path, ctl->timeout_ms, &status, ret);
    return r < 0 ? answer_failed(ctl, r, status, ret) : EXIT_OK;
}

/* A document of ours says so at its beginning: enough to tell it from a stranger's page. */
int answer_fetch(const struct ctl *ctl, const char *path, struct answer *ret)
{
    long status = 0;
    char kind[32];

    int r = agent_get(ctl->socket, path, ctl->timeout_ms, &status, &ret->body);
    if (r < 0)
        return answer_failed(ctl, r, status, ret);
    if (status != 200)
        r = answer_check(status, ret);
    else if (!*answer_word(ret, "kind", kind, sizeof(kind)))
        r = -EPROTO;
    return r < 0 ? answer_failed(ctl, r, status, ret) : EXIT_OK;
}

int answer_print(const struct ctl *ctl, const char *path)
{
    AUTOANSWER struct answer answer = { 0 };

    int r = answer_fetch(ctl, path, &answer);
    return r == EXIT_OK ? print_body(answer.body, EXIT_OK) : r;
}

const struct doc *answer_items(const struct ctl *ctl, const char *path, struct answer *ret,
                               int *ret_status)
{
    *ret_status = ctl->json ? answer_print(ctl, path) : answer_get(ctl, path, ret);
    if (ctl->json || *ret_status != EXIT_OK)
        return NULL;
    const struct doc *items = doc_get(ret->root, "items");
    if (!items)
        *ret_status = answer_failed(ctl, -EPROTO, 0, ret);
    return items;
}

int answer_print_compared(const struct ctl *ctl, const char *path)
{
    AUTOANSWER struct answer answer = { 0 };
    char differences[24];

    int r = answer_fetch(ctl, path, &answer);
    if (r != EXIT_OK)
        return r;
    (void)answer_word(&answer, "differences", differences, sizeof(differences));
    return print_body(answer.body, atoll(differences) > 0 ? EXIT_DIFFERS : EXIT_OK);
}

const char *answer_word(const struct answer *answer, const char *key, char *buffer, size_t size)
{
    const char *text = answer->body;
    struct json_cursor cursor;

    bool more = json_enter(&cursor, text, json_skip_space(text, 0));
    for (; more; more = json_next(&cursor)) {
        if (cursor.key.length != strlen(key) + 2 ||
            memcmp(text + cursor.key.offset + 1, key, strlen(key)) != 0)
            continue;
        const char *value = text + cursor.offset + (text[cursor.offset] == '"');
        (void)snprintf(buffer, size, "%.*s", (int)strcspn(value, "\"\\,]} \t\r\n"), value);
        return buffer;
    }
    return "";
}

int answer_post(const struct ctl *ctl, const char *path, const char *document, struct answer *ret)
{
    long status = 0;

    int r = agent_post(ctl->socket, path, document, ctl->timeout_ms, &status, &ret->body);
    if (r < 0)
        return answer_failed(ctl, r, status, ret);
    r = answer_check(status, ret);
    return r < 0 ? answer_failed(ctl, r, status, ret) : EXIT_OK;
}

int answer_of(char *body, struct answer *ret)
{
    ret->body = body;
    int r = body ? answer_parse(ret) : -ENOMEM;
    if (r < 0) {
        fprintf(stderr, "agentctl: %s\n", strerror(-r));
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

void answer_done(struct answer *answer)
{
    free(answer->body);
    document_free(answer->document);
    *answer = (struct answer){ 0 };
}
