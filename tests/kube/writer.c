// SPDX-License-Identifier: Apache-2.0
/*
 * A program around client/kube/kube_writer.h, for tests: writes what the lines of its standard
 * input say.
 *
 *     writer KUBECONFIG ANSWER_MS PER_SECOND
 *
 * A line is a key and what is wanted of it, with tabs in between; empty fields are not given:
 *
 *     key verb group version plural namespace name subresource uid resourceVersion manager flags
 * body
 *
 * Flags: f(orce), r(epeatable), p: go on after a conflict or refusal, v: a review. A later line of
 * a key takes the place of the one before. Each outcome is a line of standard output:
 *
 *     key outcome tries news status uid resourceVersion why
 *
 * The program ends when its input has and everything is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/sorted.h"
#include "client/kube/kube_writer.h"

enum field {
    KEY,
    VERB,
    GROUP,
    VERSION,
    PLURAL,
    NAMESPACE,
    NAME,
    SUBRESOURCE,
    UID,
    RESOURCE_VERSION,
    MANAGER,
    FLAGS,
    BODY,
    FIELDS
};

struct wanted {
    char *field[FIELDS]; /* parts of `line`, which begins with the key */
    char *line;
    bool due; /* not written yet */
};

struct program {
    sd_event *event;
    struct kube_client *client;
    struct kube_writer *writer;
    struct sorted wanted;
    struct text input;
    bool ended;
};

static int wanted_cmp(const void *a, const void *b)
{
    const struct wanted *left = a, *right = b;
    return strcmp(left->field[KEY], right->field[KEY]);
}

static struct wanted *find(const struct program *program, const char *key)
{
    const struct wanted wanted = { .field = { (char *)key } };
    return sorted_find(&program->wanted, &wanted);
}

static enum kube_verb verb_of(const char *name)
{
    enum kube_verb verb = KUBE_CREATE;
    while (verb < KUBE_DELETE && strcmp(kube_verb_name(verb), name) != 0)
        verb++;
    return verb;
}

static const char *given(const struct wanted *wanted, enum field field)
{
    return *wanted->field[field] ? wanted->field[field] : NULL;
}

static bool has_flag(const struct wanted *wanted, char flag)
{
    return strchr(wanted->field[FLAGS], flag) != NULL;
}

static int make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    struct wanted *wanted = find(context, key);
    if (!wanted || !wanted->due)
        return 0;
    *write = (struct kube_write){
        .verb = verb_of(wanted->field[VERB]),
        .target = { .group = wanted->field[GROUP],
                    .version = wanted->field[VERSION],
                    .plural = wanted->field[PLURAL],
                    .namespace = given(wanted, NAMESPACE),
                    .name = given(wanted, NAME),
                    .subresource = given(wanted, SUBRESOURCE) },
        .uid = given(wanted, UID),
        .version = given(wanted, RESOURCE_VERSION),
        .manager = given(wanted, MANAGER),
        .force = has_flag(wanted, 'f'),
        .repeatable = has_flag(wanted, 'r'),
        .review = has_flag(wanted, 'v'),
    };
    wanted->due = false; /* of this line; another may come before it is done */
    text_add(body, wanted->field[BODY]);
    return 1;
}

static const char *meta(const struct doc *object, const char *key)
{
    const struct doc *node = doc_get(doc_get(object, "metadata"), key);
    return node && node->type == DOC_SCALAR ? node->text : "";
}

static bool on_told(void *context, const char *key, const struct kube_told *told)
{
    const struct kube_result *result = &told->result;
    struct wanted *wanted = find(context, key);
    printf("%s\t%s\t%u\t%d\t%d\t%s\t%s\t%s\n", key, kube_outcome_name(result->outcome), told->tries,
           told->news, result->status, meta(result->object, "uid"),
           meta(result->object, "resourceVersion"), result->why);
    (void)fflush(stdout);
    bool open = result->outcome == KUBE_LATER || result->outcome == KUBE_UNCERTAIN;
    if (result->outcome == KUBE_DONE || !(open || has_flag(wanted, 'p')))
        return false;
    wanted->due = true;
    return true;
}

static void take_line(struct program *program, const char *line)
{
    struct wanted wanted = { .line = strdup(line), .due = true };
    char *rest = wanted.line;
    for (int i = 0; i < FIELDS; i++) {
        wanted.field[i] = rest ? strsep(&rest, i == BODY ? "" : "\t") : NULL;
        if (!wanted.field[i]) {
            (void)fprintf(stderr, "not %d fields: %s\n", FIELDS, line);
            exit(64);
        }
    }
    struct wanted *known = find(program, wanted.field[KEY]);
    if (known) {
        free(known->line);
        *known = wanted;
    } else if (sorted_put(&program->wanted, &wanted) < 0) {
        abort();
    }
    if (kube_writer_add(program->writer, wanted.field[KEY]) < 0)
        abort();
}

static void take_lines(struct program *program)
{
    AUTOFREE char *lines = text_take(&program->input);
    char *rest = lines;
    for (char *end; rest && (end = strchr(rest, '\n')); rest = end + 1) {
        *end = '\0';
        take_line(program, rest);
    }
    text_add(&program->input, rest ? rest : "");
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)events;
    struct program *program = userdata;
    char bytes[65536];
    ssize_t size = read(fd, bytes, sizeof(bytes));
    if (size <= 0) {
        program->ended = true;
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
    }
    text_add_bytes(&program->input, bytes, (size_t)size);
    take_lines(program);
    return 0;
}

static bool has_work(const struct program *program)
{
    struct kube_writer_counts counts = kube_writer_counts(program->writer);
    return counts.waiting + counts.running > 0;
}

static int open_writer(struct program *program, char **words)
{
    struct kube_writer_limits limits = kube_writer_limits_default;
    AUTOFAULTS struct faults faults = { 0 };
    struct kube_config *config = NULL;
    int r = kube_config_load(words[1], &config, &faults);
    vec_each(const struct fault, fault, &faults.list)
        (void)fprintf(stderr, "%s: %s\n", fault->place, fault->message);
    if (r < 0)
        return r;
    r = kube_client_new(program->event, config, &program->client);
    if (r < 0)
        return r;
    limits.answer_ms = atoll(words[2]);
    limits.queue.per_second = (uint32_t)atoi(words[3]);
    limits.queue.max_ms = SECOND_MS;
    const struct kube_writer_options options = {
        .event = program->event,
        .client = program->client,
        .limits = &limits,
        .make = make,
        .told = on_told,
        .context = program,
    };
    return kube_writer_new(&options, &program->writer);
}

static void close_all(struct program *program)
{
    kube_writer_free(program->writer);
    kube_client_free(program->client);
    sd_event_unref(program->event);
    sorted_each(struct wanted, wanted, &program->wanted) {
        free(wanted->line);
    }
    sorted_done(&program->wanted);
    text_done(&program->input);
}

int main(int count, char **words)
{
    struct program program = { .wanted = SORTED(struct wanted, wanted_cmp) };
    if (count != 4)
        return 64;
    int r = sd_event_new(&program.event);
    if (r >= 0)
        r = open_writer(&program, words);
    if (r >= 0)
        r = sd_event_add_io(program.event, NULL, STDIN_FILENO, EPOLLIN, on_input, &program);
    while (r >= 0 && (!program.ended || has_work(&program)))
        r = sd_event_run(program.event, UINT64_MAX);
    close_all(&program);
    return r < 0;
}
