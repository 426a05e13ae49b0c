// SPDX-License-Identifier: Apache-2.0
/* The scripted cluster of kube_fixture.h. */
#include "kube_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_all.h"
#include "model/services/service.h"

static enum kind kind_asked(const struct fake_peer *peer)
{
    for (size_t i = 0; i < kube_agent_resources.count; i++) {
        size_t length = strcspn(peer->path, "?");
        if (strlen(kube_agent_resources.rows[i].path) == length &&
            strncmp(peer->path, kube_agent_resources.rows[i].path, length) == 0)
            return kube_agent_resources.rows[i].kind;
    }
    fail_msg("nobody has to ask for %s", peer->path);
    return KIND_COUNT;
}

static void on_asked(struct fake_peer *peer, void *context)
{
    struct fixture *fx = context;
    enum kind kind = kind_asked(peer);
    bool watch = strstr(peer->path, "watch=1"), check = strstr(peer->path, "metadata.name");
    fx->checked += check;
    fx->watched[kind] += watch;
    fx->listed[kind] += !watch && !check;
    if (fx->hook && fx->hook(fx, peer, kind))
        return;
    if (check) {
        fake_peer_answer(peer, 200, NULL, fx->check);
    } else if (watch) {
        fx->watches[kind] = peer;
        fake_peer_begin(peer, 200);
    } else if (fx->lists[kind]) {
        fake_peer_answer(peer, 200, NULL, fx->lists[kind]);
    } else {
        fake_peer_answer(peer, 404, NULL, "404 page not found\n");
    }
}

static void on_changed(void *context)
{
    ((struct fixture *)context)->calls++;
}

int kube_setup_fixture(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    assert_true(sd_event_new(&fx->event) >= 0);
    fake_api_start(&fx->api, fx->event, on_asked, fx);
    fx->store = store_new();
    fx->faults = fault_book_new();
    assert_true(fx->store && fx->faults);
    fx->timing = kube_timing_default;
    fx->timing.retry_initial_ms = 4;
    fx->timing.retry_max_ms = 16;
    fx->timing.steady_ms = 50;
    fx->needed = KIND_COUNT;
    fx->check = KIND_LIST("Node", "1000", "");
    fx->lists[KIND_SERVICE] = LIST_OF("10", "");
    fx->lists[KIND_ENDPOINT_SLICE] = KIND_LIST("EndpointSlice", "10", "");
    fx->lists[KIND_NODE] = KIND_LIST("Node", "10", "");
    fx->lists[KIND_POD] = KIND_LIST("Pod", "10", "");
    *state = fx;
    return 0;
}

int kube_teardown_fixture(void **state)
{
    struct fixture *fx = *state;
    kube_source_free(fx->source);
    fake_api_done(&fx->api);
    store_free(fx->store);
    fault_book_free(fx->faults);
    sd_event_unref(fx->event);
    free(fx);
    return 0;
}

/* A string on the heap: what reads it after the start reads freed memory. */
static char *lent(const char *string)
{
    char *copy = strdup(string);
    assert_non_null(copy);
    return copy;
}

/* The options and all that they name are gone after the start, as after a reload of the daemon. */
void start_source_for(struct fixture *fx, const char *proxy_name, bool all_pods)
{
    struct kube_config *config = calloc(1, sizeof(*config));
    assert_non_null(config);
    config->server = strdup(fx->api.url);
    config->insecure = fx->insecure;
    AUTOFREE char *node = lent("node-1");
    AUTOFREE char *lent_name = lent(proxy_name);
    struct kube_source_options options = {
        .resources = &kube_agent_resources,
        .config = config,
        .node = node,
        .proxy_name = lent_name,
        .all_pods = all_pods,
        .store = fx->store,
        .status = &fx->status,
        .faults = fx->faults,
        .changed = on_changed,
        .context = fx,
    };
    if (fx->needed != KIND_COUNT)
        options.needed[fx->needed] = true;
    assert_int_equal(kube_source_start_timed(fx->event, &options, &fx->timing, &fx->source), 0);
}

void start_source(struct fixture *fx)
{
    start_source_for(fx, "", false);
}

static bool is_watched(const struct fixture *fx)
{
    for (size_t i = 0; i < fx->status.kube.count; i++) {
        enum kube_kind_state state = fx->status.kube.kinds[i].state;
        if (state != KUBE_WATCHING && state != KUBE_ABSENT)
            return false;
    }
    return true;
}

void start_and_sync(struct fixture *fx)
{
    start_source(fx);
    run_until(fx, fx->status.synced && is_watched(fx));
}

const struct kube_kind_status *kind_status(const struct fixture *fx, enum kind kind)
{
    for (size_t i = 0; i < fx->status.kube.count; i++) {
        if (strcmp(fx->status.kube.kinds[i].kind, kind_name(kind)) == 0)
            return &fx->status.kube.kinds[i];
    }
    fail_msg("no status of %s", kind_name(kind));
    return NULL;
}

void say_event(struct fixture *fx, enum kind kind, const char *type, const char *object)
{
    AUTOFREE char *event = text_format("{\"type\":\"%s\",\"object\":%s}\n", type, object);
    assert_non_null(fx->watches[kind]);
    fake_peer_say(fx->watches[kind], event);
}

bool has_service(const struct fixture *fx, const char *name, const char *ip)
{
    struct ip wanted;
    assert_int_equal(ip_parse(ip, &wanted), 0);
    const struct object *object = store_get(fx->store, KIND_SERVICE, "d", name);
    if (!object)
        return false;
    const struct service *service = to_service(object);
    return service->address_count > 0 && ip_cmp(&service->addresses[0].ip, &wanted) == 0;
}

const struct known_fault *find_fault(const struct fixture *fx, const char *group, const char *place,
                                     const char *message)
{
    for (size_t i = 0; i < fault_book_count(fx->faults); i++) {
        const struct known_fault *fault = fault_book_at(fx->faults, i);
        assert_string_equal(fault->subsystem, "kubernetes");
        if (strcmp(fault->group, group) == 0 && (!place || strcmp(fault->place, place) == 0) &&
            (!message || strstr(fault->message, message)))
            return fault;
    }
    return NULL;
}

bool has_group(const struct fixture *fx, const char *group)
{
    return find_fault(fx, group, NULL, NULL) != NULL;
}
