// SPDX-License-Identifier: Apache-2.0
/*
 * GET /v1/config: the settings that are in force, which the file on disk may not have any more.
 *
 * A configuration names files of secrets and has none itself (config/config.c), so each value is
 * shown. `agentctl config check --running` compares the document with a file.
 */
#include "api/document.h"
#include "api/view.h"
#include "config/settings.h"

void view_config(const struct api_state *state, struct text *out)
{
    CLEANUP(settings_done) struct settings settings = { 0 };
    struct json json = view_begin(out, "RunningConfig");

    if (settings_of(state->config, &settings) < 0)
        out->failed = true;
    json_string(&json, "path", state->status->config_path);
    json_time(&json, "loadedAt", state->status->config_loaded_wall_ms);
    json_bool(&json, "refused", state->status->config_refused);
    json_begin_array(&json, "items");
    vec_each(const struct setting, setting, &settings.list) {
        json_begin_object(&json, NULL);
        json_string(&json, "key", setting->key);
        json_raw(&json, "value", setting->value);
        json_end_object(&json);
    }
    json_end_array(&json);
    view_end(&json);
}
