/* SPDX-License-Identifier: Apache-2.0 */
/* Loads configurations that tests have as text. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"
#include "cmocka_all.h"
#include "config/config.h"

#define SOURCE "source: {manifests: /m}\n"

/* Loads a file with this text. The place of a fault is shown without the file's name. */
static inline int load_by(int (*read)(const char *path, struct faults *errors), const char *text,
                          char **ret_errors)
{
    AUTOFAULTS struct faults errors = { 0 };
    struct text out = { 0 };
    char path[64];
    AUTOCLOSE int fd = memfd_create("config", MFD_CLOEXEC);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

    int r = read(path, &errors);
    assert_int_equal(r == 0, faults_none(&errors));
    vec_each(struct fault, fault, &errors.list) {
        assert_int_equal(strncmp(fault->place, path, strlen(path)), 0);
        assert_int_equal(fault->place[strlen(path)], ':');
        text_addf(&out, "%s: %s\n", fault->place + strlen(path) + 1, fault->message);
    }
    text_add(&out, "");
    *ret_errors = text_take(&out);
    return r;
}

static struct config **loading_to; /* where the next one goes */

static inline int load_agents(const char *path, struct faults *errors)
{
    return config_load(path, loading_to, errors);
}

static inline int load(const char *text, struct config **ret_config, char **ret_errors)
{
    loading_to = ret_config;
    return load_by(load_agents, text, ret_errors);
}

static inline struct config *load_good(const char *text)
{
    AUTOFREE char *errors = NULL;
    struct config *config = NULL;
    int r = load(text, &config, &errors);
    assert_string_equal(errors, "");
    assert_int_equal(r, 0);
    return config;
}

static inline void assert_errors(const char *text, const char *expected)
{
    AUTOFREE char *errors = NULL;
    struct config *config = NULL;
    int r = load(text, &config, &errors);
    assert_string_equal(errors, expected);
    assert_int_equal(r, -EBADMSG);
    assert_null(config);
}

static inline void assert_prefixes(const prefix_list *list, size_t count, const char *first)
{
    char buffer[PREFIX_STRLEN];
    assert_int_equal(list->count, count);
    if (count > 0)
        assert_string_equal(prefix_str(&list->items[0], buffer), first);
}
