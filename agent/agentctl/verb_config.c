// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl config check [FILE]`: the daemon's own parser on a configuration, every error at once
 * as "file:line:column: message", which editors understand.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agentctl/output.h"
#include "config/config.h"
#include "format/json.h"

static const char default_path[] = "/etc/fingerpost/agentd.yaml";

static void write_document(struct text *out, const char *path, const struct faults *errors)
{
    struct json json = { .out = out };

    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "v1");
    json_string(&json, "kind", "ConfigCheck");
    json_string(&json, "path", path);
    json_bool(&json, "valid", faults_none(errors));
    json_begin_array(&json, "errors");
    vec_each(const struct fault, error, &errors->list) {
        json_begin_object(&json, NULL);
        json_string(&json, "place", error->place);
        json_string(&json, "message", error->message);
        json_string(&json, "remedy", error->remedy);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    text_add_char(out, '\n');
}

static void write_lines(struct text *out, const char *path, const struct faults *errors)
{
    vec_each(const struct fault, error, &errors->list) {
        add_clean(out, error->place);
        text_add(out, ": ");
        add_clean(out, error->message);
        text_add_char(out, '\n');
    }
    if (errors->list.count > 0) {
        add_count(out, (int64_t)errors->list.count, "error");
        text_add(out, ".\n");
    } else {
        add_clean(out, path);
        text_add(out, ": ok\n");
    }
}

/* EXIT_DIFFERS is for a file with errors; one that can't be read is another matter. */
static int check_status(int r)
{
    switch (r) {
    case 0:
        return EXIT_OK;
    case -EBADMSG:
        return EXIT_DIFFERS;
    case -EACCES:
        return EXIT_PERMISSION;
    default:
        return EXIT_FAILED;
    }
}

int verb_config_check(const struct ctl *ctl, char **args)
{
    CLEANUP(config_freep) struct config *config = NULL;
    AUTOFAULTS struct faults errors = { 0 };
    AUTOTEXT struct text out = { 0 };
    const char *path = args[0] ? args[0] : default_path;

    int r = config_load(path, &config, &errors);
    if (r < 0 && faults_none(&errors)) {
        fprintf(stderr, "agentctl: cannot check %s: %s\n", path, strerror(-r));
        return check_status(r);
    }
    if (ctl->json)
        write_document(&out, path, &errors);
    else
        write_lines(&out, path, &errors);
    return print_text(&out, check_status(r));
}
