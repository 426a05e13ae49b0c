/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary folder of manifests, and a manifest source on it in an event loop of its own. */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "run_until.h"
#include "source/manifest.h"

enum { MAX_FILE_BYTES = 64 << 20 };

struct fixture {
    char base[64];   /* removed at the end */
    char folder[80]; /* base/manifests */
    sd_event *event;
    struct store *store;
    struct fault_book *faults;
    struct source_status status;
    struct manifest_source *source;
    unsigned calls; /* of `changed` */
};

static inline void on_changed(void *context)
{
    ((struct fixture *)context)->calls++;
}

static inline void fixture_start(struct fixture *fx)
{
    struct manifest_options options = {
        .directory = fx->folder,
        .max_file_bytes = MAX_FILE_BYTES,
        .store = fx->store,
        .status = &fx->status,
        .faults = fx->faults,
        .changed = on_changed,
        .context = fx,
    };
    assert_int_equal(manifest_source_start(fx->event, &options, &fx->source), 0);
}

/* Takes in all events that the kernel has, and goes on until their consequences are in the store.
 */
static inline void settle(struct fixture *fx)
{
    int64_t end = clock_mono_ms() + DEADLINE_MS;
    for (;;) {
        int r;
        while ((r = sd_event_run(fx->event, 0)) > 0)
            assert_true(clock_mono_ms() < end);
        assert_int_equal(r, 0);
        if (manifest_source_loaded_generation(fx->source) == fx->status.observed_generation)
            return;
        assert_true(clock_mono_ms() < end);
        assert_true(sd_event_run(fx->event, 5000) >= 0);
    }
}

static inline char *path_of(struct fixture *fx, const char *name)
{
    static char path[4][512];
    static unsigned turn;
    char *result = path[turn++ % 4];
    snprintf(result, sizeof(path[0]), "%s/%s", fx->folder, name);
    return result;
}

static inline void put_file(const char *path, const char *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);
        assert_true(n > 0);
        bytes += n;
        size -= (size_t)n;
    }
    assert_int_equal(close(fd), 0);
}

static inline void write_file(struct fixture *fx, const char *name, const char *content)
{
    put_file(path_of(fx, name), content, strlen(content));
}

/* As careful programs do: a hidden file, then a rename over the old one. */
static inline void rename_over(struct fixture *fx, const char *name, const char *content)
{
    write_file(fx, ".new", content);
    assert_int_equal(rename(path_of(fx, ".new"), path_of(fx, name)), 0);
}

static inline void remove_file(struct fixture *fx, const char *name)
{
    assert_int_equal(unlink(path_of(fx, name)), 0);
}

/* A Service with one port, in YAML. Borrowed until the fourth next call. */
static inline const char *service_yaml(const char *name, int port)
{
    static char text[4][256];
    static unsigned turn;
    char *result = text[turn++ % 4];
    snprintf(result, sizeof(text[0]),
             "apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\nspec:\n"
             "  clusterIP: 10.96.0.9\n  ports:\n  - port: %d\n",
             name, port);
    return result;
}

/* The port that counts for a Service of namespace default; 0: there is none. */
static inline int port_of(const struct store *store, const char *name)
{
    const struct object *object = store_get(store, KIND_SERVICE, "default", name);
    if (!object)
        return 0;
    assert_int_equal(to_service(object)->port_count, 1);
    return to_service(object)->ports[0].port;
}

/* The fault of a group whose message contains `words`, or NULL. */
static inline const struct known_fault *fault_in(struct fixture *fx, const char *group,
                                                 const char *words)
{
    for (size_t i = 0; i < fault_book_count(fx->faults); i++) {
        const struct known_fault *fault = fault_book_at(fx->faults, i);
        assert_string_equal(fault->subsystem, "manifests");
        if (strcmp(fault->group, group) == 0 && strstr(fault->message, words))
            return fault;
    }
    return NULL;
}

static inline int remove_path(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline void remove_tree(const char *path)
{
    assert_int_equal(nftw(path, remove_path, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline int fixture_setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    strcpy(fx->base, "/tmp/fingerpost-source-XXXXXX");
    assert_non_null(mkdtemp(fx->base));
    snprintf(fx->folder, sizeof(fx->folder), "%s/manifests", fx->base);
    assert_int_equal(mkdir(fx->folder, 0755), 0);
    assert_true(sd_event_new(&fx->event) >= 0);
    fx->store = store_new();
    fx->faults = fault_book_new();
    assert_non_null(fx->store);
    assert_non_null(fx->faults);
    *state = fx;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    struct fixture *fx = *state;
    manifest_source_free(fx->source);
    store_free(fx->store);
    fault_book_free(fx->faults);
    sd_event_unref(fx->event);
    remove_tree(fx->base);
    free(fx);
    return 0;
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
