// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl setup`: a first agentd.yaml and BIRD's lines for this machine, with the two files that
 * these include. It prints what it would write, and where a file is there already, the difference;
 * with --write it writes them, and keeps what was there as FILE.old. classes.conf is the operator's
 * to edit: it is made once. BIRD's own configuration is never touched.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentctl/ctl.h"
#include "agentctl/output.h"
#include "base/files/file.h"
#include "doctor/bird_release.h"
#include "doctor/difference.h"
#include "doctor/setup.h"
#include "format/json.h"

enum { FILE_LIMIT = 1 << 20 };
enum { FILE_AGENTD, FILE_BIRD, FILE_INCLUDED, FILE_CLASSES, FILES };

static const char default_config[] = "/etc/fingerpost/agentd.yaml";

/* One of the files. */
struct made {
    char *path;
    const char *content;
    bool fixed;   /* the same on every machine: not shown */
    bool kept;    /* what is there stays */
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
                  : made->kept                               ? "kept"
                                                             : "different";
    return EXIT_OK;
}

static int write_one(struct made *made)
{
    AUTOFREE char *old = text_format("%s.old", made->path);
    AUTOFREE char *folder = strdup(made->path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    int r = old && folder ? 0 : -ENOMEM;

    if (strcmp(made->state, "same") == 0 || strcmp(made->state, "kept") == 0)
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

/* Which releases changed a file of birdconf/ last: the one that is there, and this program's. */
static void add_releases(struct text *out, const struct made *made)
{
    int there, here;
    const char *ours = bird_release_of(made->content, &here);
    const char *theirs = made->before ? bird_release_of(made->before, &there) : NULL;

    if (!ours)
        return;
    if (!made->before || strcmp(made->state, "same") == 0)
        text_addf(out, " (of release %.*s)", here, ours);
    else if (theirs)
        text_addf(out, " (there of release %.*s, here of release %.*s)", there, theirs, here, ours);
    else
        text_addf(out, " (there of no release that it names, here of release %.*s)", here, ours);
}

static void add_words(struct text *out, const struct made *made)
{
    text_addf(out, "%s: %s", made->path, made->state);
    add_releases(out, made);
    text_add_char(out, '\n');
    if (made->fixed)
        return;
    if (strcmp(made->state, "new") == 0)
        (void)difference_add("", made->content, out);
    else if (strcmp(made->state, "different") == 0)
        (void)difference_add(made->before, made->content, out);
}

static void add_release(struct json *json, const char *key, const char *text)
{
    int length;
    const char *release = text ? bird_release_of(text, &length) : NULL;
    AUTOFREE char *word = release ? text_format("%.*s", length, release) : NULL;
    json_string(json, key, word);
}

static void add_json(struct json *json, const struct made *made)
{
    json_begin_object(json, NULL);
    json_string(json, "path", made->path);
    json_string(json, "state", made->state);
    add_release(json, "release", made->content);
    add_release(json, "releaseThere", made->before);
    json_string(json, "content", made->content);
    json_end_object(json);
}

/* What is left to be done by hand. */
static void add_next(struct text *out, const struct ctl *ctl, const struct made *bird,
                     const char *next)
{
    const bool numbers = !strstr(bird->content, "\n#define ");

    if (!ctl->write) {
        text_add(out, "Nothing was written; agentctl setup --write does.\n");
        if (!numbers)
            text_add(out, "AS numbers can't be seen from here: --asn=N --peer-asn=N\n");
        return;
    }
    text_add(out, "Next:\n");
    if (!numbers)
        text_addf(out, "  fill in the AS numbers in %s\n", bird->path);
    text_addf(out,
              "  let BIRD's configuration include it, once: include \"%s\";\n"
              "  birdc configure\n"
              "  agentctl doctor\n",
              bird->path);
    text_add(out, next);
}

static int report(const struct ctl *ctl, const struct made *files, size_t count, const char *next)
{
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };

    if (!ctl->json) {
        for (size_t i = 0; i < count; i++)
            add_words(&out, &files[i]);
        add_next(&out, ctl, &files[FILE_BIRD], next);
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

/* A file beside agentd.yaml. */
static char *beside(const char *config, const char *name)
{
    const char *slash = strrchr(config, '/');
    return text_format("%.*s%s", slash ? (int)(slash - config + 1) : 0, config, name);
}

static int work(const struct ctl *ctl, struct made *files, const char *next)
{
    for (size_t i = 0; i < FILES; i++) {
        int r = files[i].path ? compare(&files[i]) : EXIT_FAILED;
        if (r == EXIT_OK && ctl->write)
            r = write_one(&files[i]);
        if (r != EXIT_OK)
            return r;
    }
    return report(ctl, files, FILES, next);
}

int verb_setup(const struct ctl *ctl, char **args)
{
    AUTOTEXT struct text agentd = { 0 }, bird = { 0 }, next = { 0 };
    const struct setup_options options = {
        .config = ctl->config ? ctl->config : default_config,
        .manifests = ctl->folder,
        .asn = ctl->asn,
        .peer_asn = ctl->peer_asn,
    };

    (void)args;
    int r = setup_compose(&options, &agentd, &bird, &next);
    if (r < 0) {
        fprintf(stderr, "agentctl: cannot look at this machine: %s\n", strerror(-r));
        return EXIT_FAILED;
    }
    struct made files[FILES] = {
        [FILE_AGENTD] = { .path = strdup(options.config), .content = text_str(&agentd) },
        [FILE_BIRD] = { .path = beside(options.config, "bird-lines.conf"),
                        .content = text_str(&bird) },
        [FILE_INCLUDED] = { .path = beside(options.config, "fingerpost.conf"),
                            .content = setup_fingerpost_conf,
                            .fixed = true },
        [FILE_CLASSES] = { .path = beside(options.config, "classes.conf"),
                           .content = setup_classes_conf,
                           .fixed = true,
                           .kept = true },
    };
    r = work(ctl, files, text_str(&next));
    for (size_t i = 0; i < FILES; i++)
        made_done(&files[i]);
    return r;
}
