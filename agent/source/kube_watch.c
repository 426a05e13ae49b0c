// SPDX-License-Identifier: Apache-2.0
/*
 * Parses a watch: {"type": "ADDED", "object": {...}}, one after the other. Called by reflector.c.
 *
 * Each event advances the version from which the watch is resumed, and never moves it back; a
 * bookmark does nothing else. If there was no memory to apply an event, the version is not
 * advanced, and the event is sent again. The beginning of an event that can't be parsed mostly has
 * the object's name, and whether it was deleted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/macro.h"
#include "base/text.h"
#include "faults/api.h"
#include "format/quote.h"
#include "loop/curl.h"
#include "source/kube_version.h"
#include "source/reflector.h"

enum { STATUS_GONE = 410 };

char *watch_path(const struct reflector *reflector)
{
    const struct kube_timing *timing = reflector->timing;
    uint32_t random = 0; /* without randomness, as early in the boot: the shortest */
    (void)getrandom(&random, sizeof(random), GRND_NONBLOCK);
    int64_t spread_ms = timing->watch_max_ms - timing->watch_min_ms;
    int64_t timeout_ms = timing->watch_min_ms + (int64_t)random % (spread_ms + 1);
    return text_format("%swatch=1&allowWatchBookmarks=true&resourceVersion=%s&timeoutSeconds=%lld",
                       reflector->path, reflector->version, (long long)((timeout_ms + 999) / 1000));
}

int watch_refused_part(struct reflector *reflector, const char *text, const struct faults *why)
{
    char buffer[KUBE_NAME_BUFFER];
    struct object_name name;
    int r = kube_objects_refuse(&reflector->objects, text, why, &name, buffer);
    if (r > 0 && kube_objects_deletes(text))
        r = kube_objects_remove(&reflector->objects, &name);
    if (r < 0)
        return reflector_give_up(reflector, "%s", kube_objects_error(r));
    reflector->changed(reflector->context);
    return 0;
}

/* An ERROR: its object is a Status, which may have a delay as `Retry-After` does. */
static int read_error(struct reflector *reflector, const struct document *document,
                      const struct doc *status)
{
    AUTOFAULTS struct faults ignored = { 0 };
    int64_t retry_after_s = 0;
    const struct doc *message = doc_get(status, "message");
    const struct doc *code = doc_get(status, "code");
    bool scalar = message && message->type == DOC_SCALAR;
    reflector->expired =
        code && code->type == DOC_SCALAR && strtol(code->text, NULL, 10) == STATUS_GONE;
    const struct doc *pause = doc_get(doc_get(status, "details"), "retryAfterSeconds");
    if (doc_int(document, pause, 0, INT32_MAX, &retry_after_s, &ignored) > 0)
        reflector->retry_after_ms = MIN(retry_after_s * 1000, CURL_RETRY_AFTER_MAX_MS);
    return reflector_give_up(reflector, "the API ended the watch: %s",
                             scalar ? message->text : "it does not say why");
}

static int take_object(struct reflector *reflector, const struct document *document,
                       const struct doc *object, bool deleted)
{
    struct object_name name;
    if (!kube_objects_name(&reflector->objects, object, &name))
        return -EBADMSG;
    if (deleted)
        return kube_objects_remove(&reflector->objects, &name);
    return kube_objects_put(&reflector->objects, document, object, &name);
}

/*
 * Whether an event can be the next one: each is newer than those before it, also a deletion, which
 * has the version at which it happened. A bookmark may repeat the version. Problems of an added or
 * modified object itself are separate faults (kube_objects.c).
 */
static int check_event(struct reflector *reflector, const struct doc *object, bool put,
                       bool deleted, const char *version)
{
    char shown[QUOTE_LEN];
    const char *other = kube_objects_other_kind(&reflector->objects, object);
    if (!put && other)
        return reflector_give_up(reflector, "an event of the watch is about a %s",
                                 quote(other, shown));
    if (deleted && !*version)
        return reflector_give_up(reflector, "what comes is no event of a watch: a deletion "
                                            "without a version");
    if (*version && kube_version_goes_back(version, reflector->version))
        return reflector_give_up(reflector, "the watch goes back: it tells of version %s after %s",
                                 version, reflector->version);
    return 0;
}

static int read_event(struct reflector *reflector, const struct json_part *part,
                      const struct document *document)
{
    const struct doc *type = doc_get(document->root, "type");
    const struct doc *object = doc_get(document->root, "object");
    const char *word = type && type->type == DOC_SCALAR ? type->text : "";
    bool deleted = strcmp(word, "DELETED") == 0, bookmark = strcmp(word, "BOOKMARK") == 0;
    if (strcmp(word, "ERROR") == 0)
        return read_error(reflector, document, object);
    if (!deleted && !bookmark && strcmp(word, "ADDED") != 0 && strcmp(word, "MODIFIED") != 0)
        return reflector_give_up(reflector, "what comes is no event of a watch");

    char version[KUBE_VERSION_MAX] = "";
    (void)kube_version_read(object, version);
    if (check_event(reflector, object, !deleted && !bookmark, deleted, version) < 0)
        return -1;
    int r = bookmark ? 0 : take_object(reflector, document, object, deleted);
    if (r == -ENOMEM || r == -E2BIG)
        return reflector_give_up(reflector, "%s", kube_objects_error(r));
    if (*version && strcmp(version, reflector->version) != 0) {
        reflector->news += !bookmark;
        memcpy(reflector->version, version, sizeof(version));
    }
    if (r < 0) {
        AUTOFAULTS struct faults why = { 0 };
        doc_raise(document, object, &why, api_event_nameless);
        return watch_refused_part(reflector, part->text, &why);
    }
    if (!bookmark)
        reflector->changed(reflector->context);
    return 0;
}

int watch_part(struct reflector *reflector, const struct json_part *part)
{
    AUTOFAULTS struct faults why = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    int r = document_parse(part->text, part->length, "", READER_JSON, &document, &why);
    if (r == -ENOMEM)
        return reflector_give_up(reflector, "no memory for an event");
    if (*part->text != '{')
        return reflector_give_up(reflector, "what comes is no event of a watch");
    if (r <= 0)
        return watch_refused_part(reflector, part->text, &why);
    return read_event(reflector, part, document);
}
