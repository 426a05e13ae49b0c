// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl config check [FILE]`: the daemon's own parser on a configuration, every error at once
 * as "file:line:column: message", which editors understand. `agentctl config show [FILE]`: what is
 * in force with it, default or not. The kubeconfig that a configuration names is part of it. What
 * the running agent has loaded may be older: `config check --running` asks it (config_running.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/config_running.h"
#include "agentctl/field.h"
#include "agentctl/tables.h"
#include "client/kube/kubeconfig.h"
#include "config/config.h"
#include "config/settings.h"
#include "format/json.h"

const struct column setting_columns[] = {
    { "KEY", COLUMN_NAME },
    { "VALUE", COLUMN_TRUNCATE },
    { "ORIGIN" },
    { NULL },
};

static const char default_path[] = "/etc/fingerpost/agentd.yaml";

static void write_document(struct text *out, const char *path, const struct faults *errors,
                           const struct config_running *both)
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
    config_running_write(&json, both);
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
        if (error->remedy) {
            text_add(out, "-> ");
            add_clean(out, error->remedy);
            text_add_char(out, '\n');
        }
    }
    if (errors->list.count > 0) {
        text_add_count(out, (int64_t)errors->list.count, "error");
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

/* Returns as config_load(); what the configuration names, and can't be used, makes it a bad one. */
static int check(const char *path, struct faults *errors)
{
    CLEANUP(config_freep) struct config *config = NULL;
    int r = config_load(path, &config, errors);
    if (r < 0 || !config->source.kubeconfig)
        return r;
    r = kube_config_try(config->source.kubeconfig, errors);
    return r == 0 || r == -EACCES || r == -ENOMEM ? r : -EBADMSG;
}

/* The agent may read what the caller may not. */
static void add_remedy(struct faults *errors)
{
    vec_each(struct fault, error, &errors->list) {
        free(error->remedy);
        error->remedy = strdup("ask as root, or as the user that runs the agent");
    }
}

/* The values are JSON already, so the list is put together by hand. */
static void write_settings(struct text *out, const char *path, const struct settings *settings)
{
    struct json json = { .out = out };

    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "v1");
    json_string(&json, "kind", "SettingList");
    json_string(&json, "path", path);
    json_begin_array(&json, "items");
    vec_each(const struct setting, setting, &settings->list) {
        json_begin_object(&json, NULL);
        json_string(&json, "key", setting->key);
        json_string(&json, "origin", setting->line ? "file" : "default");
        if (setting->line)
            json_int(&json, "line", setting->line);
        else
            json_null(&json, "line");
        text_addf(out, ",\"value\":%s", setting->value);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    text_add_char(out, '\n');
}

/* What the agent runs with, and what the file says where it is good. Returns an exit status. */
static int ask_running(const struct ctl *ctl, const char **path, struct answer *running)
{
    struct ctl asking = *ctl;
    asking.json = false; /* its answer is read, and not printed */
    int status = answer_get(&asking, "/v1/config", running);
    if (status == EXIT_OK && !*path)
        *path = field(running->root, "path");
    return status;
}

static int read_file(const char *path, struct answer *ret_file)
{
    CLEANUP(settings_done) struct settings settings = { 0 };
    AUTOFAULTS struct faults errors = { 0 };
    AUTOTEXT struct text text = { 0 };
    if (settings_load(path, &settings, &errors) < 0)
        return EXIT_FAILED;
    write_settings(&text, path, &settings);
    char *body = text_take(&text);
    return body ? answer_of(body, ret_file) : EXIT_FAILED;
}

static int tell_check(const struct ctl *ctl, const char *path, int r, struct faults *errors,
                      const struct answer *running)
{
    AUTOANSWER struct answer file = { 0 };
    AUTOTEXT struct text out = { 0 };
    int status = check_status(r);

    if (r == -EACCES)
        add_remedy(errors);
    if (r == 0 && running->root) {
        status = read_file(path, &file);
        if (status != EXIT_OK)
            return status;
    }
    const struct config_running both = { running->root, file.root };
    if (config_running_count(&both) > 0)
        status = EXIT_DIFFERS;
    if (ctl->json) {
        write_document(&out, path, errors, &both);
        return print_text(&out, status);
    }
    write_lines(&out, path, errors);
    if (both.running)
        config_running_add(&out, &both);
    return print_lines(&out, status);
}

int verb_config_check(const struct ctl *ctl, char **args)
{
    AUTOFAULTS struct faults errors = { 0 };
    AUTOANSWER struct answer running = { 0 };
    const char *path = args[0];

    if (ctl->running) {
        int status = ask_running(ctl, &path, &running);
        if (status != EXIT_OK)
            return status;
    }
    if (!path)
        path = default_path;
    int r = check(path, &errors);
    if (r < 0 && faults_none(&errors)) {
        fprintf(stderr, "agentctl: cannot check %s: %s\n", path, strerror(-r));
        return check_status(r);
    }
    return tell_check(ctl, path, r, &errors, &running);
}

/* A string without its quotes, unless they are all there is. */
static void add_value(struct text *out, const char *value)
{
    size_t length = strlen(value);

    if (strcmp(value, "null") == 0)
        text_add_char(out, '-');
    else if (value[0] == '"' && length > 2)
        text_add_bytes(out, value + 1, length - 2);
    else
        text_add(out, value);
}

static int print_settings(const struct ctl *ctl, const char *path, const struct settings *settings)
{
    AUTOTEXT struct text total = { 0 };
    struct table *table = table_new(ctl, setting_columns);
    int64_t set = 0;

    vec_each(const struct setting, setting, &settings->list) {
        AUTOTEXT struct text value = { 0 }, origin = { 0 };
        add_value(&value, setting->value);
        if (setting->line)
            text_addf(&origin, "%s:%u", path, setting->line);
        else
            text_add(&origin, "default");
        const char *const cells[] = { setting->key, text_str(&value), text_str(&origin) };
        _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(setting_columns), "a cell per column");
        table_row(table, cells);
        set += setting->line > 0;
    }
    text_add_count(&total, (int64_t)settings->list.count, "setting");
    return table_print(table, "%s, %" PRId64 " from the file.\n", text_str(&total), set);
}

int verb_config_show(const struct ctl *ctl, char **args)
{
    CLEANUP(settings_done) struct settings settings = { 0 };
    AUTOFAULTS struct faults errors = { 0 };
    AUTOTEXT struct text out = { 0 };
    const char *path = args[0] ? args[0] : default_path;

    int r = settings_load(path, &settings, &errors);
    if (r < 0) {
        if (faults_none(&errors))
            text_addf(&out, "agentctl: cannot read %s: %s\n", path, strerror(-r));
        else
            write_lines(&out, path, &errors);
        (void)fputs(text_str(&out), stderr);
        return check_status(r);
    }
    if (!ctl->json)
        return print_settings(ctl, path, &settings);
    write_settings(&out, path, &settings);
    return print_text(&out, EXIT_OK);
}
