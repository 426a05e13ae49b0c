// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl setup`: a first agentd.yaml and BIRD's lines for this machine. It prints what it would
 * write, and where a file is there already, the difference; with --write it writes them, and keeps
 * what was there as FILE.old. BIRD's own configuration is never touched.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentctl/ctl.h"
#include "agentctl/output.h"
#include "base/file.h"
#include "doctor/difference.h"
#include "doctor/setup.h"
#include "format/json.h"

enum { FILE_LIMIT = 1 << 20 };

static const char default_config[] = "/etc/fingerpost/agentd.yaml";

/* One of the two files. */
struct made {
    char *path;
    const char *content;
    char *before; /* NULL: it is not there */
    const char *state;
};

static void made_done(struct made *made)
{
    free(made->path);
    free(made->before);
}

static int complain(const char *path, int error)
{
    fprintf(stderr, "agentctl: %s: %s\n", path, strerror(-error));
    return error == -EACCES || error == -EPERM ? EXIT_PERMISSION : EXIT_FAILED;
}

static int compare(struct made *made)
{
    size_t size;
    int r = file_read(made->path, FILE_LIMIT, &made->before, &size);
    if (r < 0 && r != -ENOENT)
        return complain(made->path, r);
    made->state = r == -ENOENT                               ? "new"
                  : strcmp(made->before, made->content) == 0 ? "same"
                                                             : "different";
    return EXIT_OK;
}

static int write_one(struct made *made)
{
    AUTOFREE char *old = text_format("%s.old", made->path);
    AUTOFREE char *folder = strdup(made->path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    int r = old && folder ? 0 : -ENOMEM;

    if (strcmp(made->state, "same") == 0)
        return EXIT_OK;
    if (r == 0 && slash && slash != folder) {
        *slash = '\0';
        r = dir_make(folder);
    }
    if (r == 0 && made->before)
        r = file_write_atomic(old, made->before, strlen(made->before));
    if (r == 0)
        r = file_write_atomic(made->path, made->content, strlen(made->content));
    if (r < 0)
        return complain(made->path, r);
    made->state = "written";
    return EXIT_OK;
}

static void add_words(struct text *out, const struct made *made)
{
    text_addf(out, "%s: %s\n", made->path, made->state);
    if (strcmp(made->state, "new") == 0)
        (void)difference_add("", made->content, out);
    else if (strcmp(made->state, "different") == 0)
        (void)difference_add(made->before, made->content, out);
}

static void add_json(struct json *json, const struct made *made)
{
    json_begin_object(json, NULL);
    json_string(json, "path", made->path);
    json_string(json, "state", made->state);
    json_string(json, "content", made->content);
    json_end_object(json);
}

static int report(const struct ctl *ctl, const struct made *files, size_t count)
{
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };

    if (!ctl->json) {
        for (size_t i = 0; i < count; i++)
            add_words(&out, &files[i]);
        text_add(&out, ctl->write ? "Next: agentctl doctor\n"
                                  : "Nothing was written; agentctl setup --write does.\n");
        return print_text(&out, EXIT_OK);
    }
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "v1");
    json_string(&json, "kind", "Setup");
    json_begin_array(&json, "files");
    for (size_t i = 0; i < count; i++)
        add_json(&json, &files[i]);
    json_end_array(&json);
    json_end_object(&json);
    text_add_char(&out, '\n');
    return print_text(&out, EXIT_OK);
}

/* BIRD's lines lie beside agentd.yaml. */
static char *bird_path(const char *config)
{
    const char *slash = strrchr(config, '/');
    return text_format("%.*sbird-lines.conf", slash ? (int)(slash - config + 1) : 0, config);
}

int verb_setup(const struct ctl *ctl, char **args)
{
    AUTOTEXT struct text agentd = { 0 }, bird = { 0 };
    CLEANUP(made_done) struct made first = { 0 }, second = { 0 };
    const struct setup_options options = {
        .config = ctl->config ? ctl->config : default_config,
        .manifests = ctl->folder,
    };

    (void)args;
    int r = setup_compose(&options, &agentd, &bird);
    if (r < 0) {
        fprintf(stderr, "agentctl: cannot look at this machine: %s\n", strerror(-r));
        return EXIT_FAILED;
    }
    first = (struct made){ .path = strdup(options.config), .content = text_str(&agentd) };
    second = (struct made){ .path = bird_path(options.config), .content = text_str(&bird) };
    struct made *const files[] = { &first, &second };
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        r = files[i]->path ? compare(files[i]) : EXIT_FAILED;
        if (r == EXIT_OK && ctl->write)
            r = write_one(files[i]);
        if (r != EXIT_OK)
            return r;
    }
    return report(ctl, (const struct made[]){ first, second }, 2);
}
