// SPDX-License-Identifier: Apache-2.0
/* Engines and a kernel for tests of pass and schedule; see fakes.h. */
#include "fakes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "format/reader.h"
#include "model/object.h"

struct fakes fakes;
static struct text told;

static int call(const char *name, const char *operation)
{
    AUTOTEXT struct text word = { 0 };
    text_addf(&word, "%s%s%s", name, *operation ? "." : "", operation);
    text_addf(&fakes.calls, "%s%s", fakes.calls.length ? " " : "", text_str(&word));
    if (fakes.during)
        fakes.during(text_str(&word));
    return fakes.failing && strcmp(fakes.failing, text_str(&word)) == 0 ? -EIO : 0;
}

const char *fakes_calls(void)
{
    text_done(&told);
    told = fakes.calls;
    fakes.calls = (struct text){ 0 };
    return text_str(&told);
}

/* ---- engines ---- */

static void close_fake(struct engine *engine)
{
    (void)call(engine->ops->name, "close");
    free(engine);
}

static void configure(struct engine *engine, const struct config *config)
{
    (void)config;
    (void)call(engine->ops->name, "configure");
}

static int note(struct engine *engine, const struct change *change, struct round *round)
{
    (void)change, (void)round;
    return call(engine->ops->name, "note");
}

static int hear(struct engine *engine, const struct kernel_events *events, struct round *round)
{
    (void)events, (void)round;
    return call(engine->ops->name, "hear");
}

/* It says of an address that it loses service, before it fails if it does. */
static int plan(struct engine *engine, struct round *round)
{
    const int r = call(engine->ops->name, "plan");
    if (r < 0)
        assert_int_equal(vec_push(&round->losses, (struct ip){ 0 }), 0);
    return r;
}

static int withdraw(struct engine *engine, struct round *round)
{
    (void)round;
    return call(engine->ops->name, "withdraw");
}

static int write_fake(struct engine *engine, struct round *round)
{
    round->repairs = fakes.repairs;
    return call(engine->ops->name, "write");
}

static void publish(struct engine *engine, struct round *round)
{
    fakes.published = *round;
    (void)call(engine->ops->name, "publish");
}

static int64_t next_ms(const struct engine *engine, int64_t now_ms)
{
    (void)engine, (void)now_ms;
    return fakes.next_ms;
}

static enum progress progress(const struct engine *engine)
{
    return engine->ops == &fake_second ? fakes.progress : PROGRESS_DONE;
}

static int open_fake(const struct engine_ops *ops, struct engine **ret_engine)
{
    int r = call(ops->name, "open");
    if (r < 0)
        return r;
    *ret_engine = calloc(1, sizeof(**ret_engine));
    assert_non_null(*ret_engine);
    (*ret_engine)->ops = ops;
    return 0;
}

static int open_first(const struct engine_setup *setup, struct engine **ret_engine)
{
    (void)setup;
    return open_fake(&fake_first, ret_engine);
}

static int open_second(const struct engine_setup *setup, struct engine **ret_engine)
{
    (void)setup;
    return open_fake(&fake_second, ret_engine);
}

static int open_bare(const struct engine_setup *setup, struct engine **ret_engine)
{
    (void)setup;
    return open_fake(&fake_bare, ret_engine);
}

#define ALL_OPERATIONS                                                                     \
    .close = close_fake, .configure = configure, .note = note, .hear = hear, .plan = plan, \
    .withdraw = withdraw, .write = write_fake, .publish = publish, .next_ms = next_ms,     \
    .progress = progress

const struct engine_ops fake_first = { .name = "first", .open = open_first, ALL_OPERATIONS };
const struct engine_ops fake_second = { .name = "second", .open = open_second, ALL_OPERATIONS };
const struct engine_ops fake_bare = {
    .name = "bare",
    .open = open_bare,
    .close = close_fake,
};
const struct engine_ops *const fake_table[] = { &fake_first, &fake_second, NULL };

/* ---- the kernel ---- */

struct kernel *fake_kernel(void)
{
    return (struct kernel *)&fakes;
}

static void add_events(struct kernel_events *to, const struct kernel_events *from)
{
    to->rules |= from->rules;
    to->other_rules |= from->other_rules;
    to->addresses |= from->addresses;
    to->links |= from->links;
    to->resynced |= from->resynced;
    to->writer = from->writer ? from->writer : to->writer;
    assert_int_equal(vec_append(&to->routes, &from->routes), 0);
}

static void forget_events(struct kernel_events *events)
{
    vec_done(&events->routes);
    *events = (struct kernel_events){ 0 };
}

void fake_kernel_tell(const struct kernel_events *events)
{
    add_events(&fakes.pending, events);
    assert_int_equal(eventfd_write(fakes.fd, 1), 0);
}

int __wrap_kernel_fd(const struct kernel *kernel);
int __wrap_kernel_read(struct kernel *kernel);
int __wrap_kernel_resync(struct kernel *kernel);
const struct kernel_events *__wrap_kernel_events(const struct kernel *kernel);
void __wrap_kernel_events_done(struct kernel *kernel);

int __wrap_kernel_fd(const struct kernel *kernel)
{
    (void)kernel;
    return fakes.fd;
}

int __wrap_kernel_read(struct kernel *kernel)
{
    eventfd_t count;
    (void)kernel;
    (void)eventfd_read(fakes.fd, &count); /* EAGAIN: there is nothing */
    add_events(&fakes.events, &fakes.pending);
    forget_events(&fakes.pending);
    return call("read", "");
}

int __wrap_kernel_resync(struct kernel *kernel)
{
    (void)kernel;
    fakes.resyncs++;
    return 0;
}

const struct kernel_events *__wrap_kernel_events(const struct kernel *kernel)
{
    (void)kernel;
    return &fakes.events;
}

void __wrap_kernel_events_done(struct kernel *kernel)
{
    (void)kernel;
    (void)call("done", "");
    forget_events(&fakes.events);
}

/* ---- all of it ---- */

void fakes_begin(void)
{
    fakes = (struct fakes){ .next_ms = INT64_MAX, .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) };
    assert_true(fakes.fd >= 0);
}

void fakes_end(void)
{
    forget_events(&fakes.pending);
    forget_events(&fakes.events);
    text_done(&fakes.calls);
    text_done(&told);
    told = (struct text){ 0 };
    (void)close(fakes.fd);
}

void fake_put(struct store *store, const char *name)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text yaml = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    text_addf(&yaml, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", name);
    assert_int_equal(
        document_parse(text_str(&yaml), yaml.length, "test.yaml", READER_YAML, &document, &faults),
        1);
    assert_int_equal(object_decode(document, &object, NULL, &faults, &faults), 1);
    assert_int_equal(store_put(store, "test.yaml", object), 1);
}
