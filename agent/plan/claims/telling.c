// SPDX-License-Identifier: Apache-2.0
/* See telling.h. Run by segment/. */
#include "plan/claims/telling.h"

#include <string.h>

#include "base/macro.h"

static size_t place_of(const struct telling *telling, uint32_t ifindex, const struct ip *ip)
{
    for (size_t i = 0; i < telling->tasks.count; i++) {
        const struct telling_task *task = &telling->tasks.items[i];
        if (task->ifindex == ifindex && ip_equal(&task->ip, ip))
            return i;
    }
    return telling->tasks.count;
}

/* The others keep their order. */
static void drop(struct telling *telling, size_t place)
{
    struct telling_task *task = &telling->tasks.items[place];
    vec_done(&task->hosts);
    memmove(task, task + 1, (telling->tasks.count - place - 1) * sizeof(*task));
    telling->tasks.count--;
    telling->turn -= telling->turn > place;
}

static int choose(const telling_hosts *hosts, const struct ip *ip, telling_hosts *chosen)
{
    int r = 0;
    vec_each(const struct telling_host, host, hosts) {
        if (host->ip.family == ip->family && chosen->count < TELLING_MOST)
            r = vec_push(chosen, *host);
        if (r < 0)
            return r;
    }
    return 0;
}

int telling_begin(struct telling *telling, uint32_t ifindex, const struct ip *ip,
                  const uint8_t mac[static 6], const telling_hosts *hosts)
{
    AUTOVEC telling_hosts chosen = { 0 };
    telling_end(telling, ifindex, ip);
    int r = choose(hosts, ip, &chosen);
    if (r < 0 || !chosen.count)
        return r;
    r = vec_reserve(&telling->tasks, 1);
    if (r < 0)
        return r;
    struct telling_task *task = &telling->tasks.items[telling->tasks.count++];
    *task = (struct telling_task){ .ifindex = ifindex, .ip = *ip };
    memcpy(task->mac, mac, sizeof(task->mac));
    vec_move(&task->hosts, &chosen);
    return 0;
}

void telling_end(struct telling *telling, uint32_t ifindex, const struct ip *ip)
{
    size_t place = place_of(telling, ifindex, ip);
    if (place < telling->tasks.count)
        drop(telling, place);
}

static void take_word(struct telling *telling, struct telling_word *word)
{
    size_t place = telling->turn % telling->tasks.count;
    struct telling_task *task = &telling->tasks.items[place];
    *word = (struct telling_word){
        .ifindex = task->ifindex,
        .ip = task->ip,
        .host = task->hosts.items[task->told++],
    };
    memcpy(word->mac, task->mac, sizeof(word->mac));
    telling->turn = (place + 1) % telling->tasks.count;
    if (task->told == task->hosts.count)
        drop(telling, place);
}

bool telling_next(struct telling *telling, int64_t now_ms, struct telling_word *ret_word)
{
    if (!telling->tasks.count || now_ms < telling->next_ms)
        return false;
    if (telling->sent == TELLING_BATCH) {
        telling->sent = 0;
        telling->next_ms = now_ms + TELLING_PAUSE_MS;
        return false;
    }
    telling->sent++;
    take_word(telling, ret_word);
    return true;
}

int64_t telling_next_ms(const struct telling *telling)
{
    return telling->tasks.count ? telling->next_ms : INT64_MAX;
}

void telling_done(struct telling *telling)
{
    vec_each(struct telling_task, task, &telling->tasks)
        vec_done(&task->hosts);
    vec_done(&telling->tasks);
}
