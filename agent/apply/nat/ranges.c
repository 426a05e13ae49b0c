// SPDX-License-Identifier: Apache-2.0
/*
 * "ranges": the source ranges of one Service, a list for each bank.
 *
 * The idle bank is made to say what is wished; the other one stays as it is, for packets that are
 * just being judged by it, until its turn comes with the next change. While the ranges do not
 * change, both banks say the same and nothing is written.
 *
 * A look-up finds the longest prefix that fits, so the value is the prefix length: that tells
 * whether it is the very entry that was sought.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>

#include "apply/nat/ranges.h"
#include "apply/nat/table.h"

struct nat_range_key nat_range_key_of(const struct nat_range_key *range, uint32_t service,
                                      uint32_t bank)
{
    struct nat_range_key key = *range;
    key.owner = htonl(service << 1 | bank);
    return key;
}

static int put(struct nat_plane *plane, const struct nat_range_key *range, uint32_t service,
               uint32_t bank)
{
    struct nat_range_key key = nat_range_key_of(range, service, bank);
    return nat_table_put(plane, NAT_MAP_RANGES, &key, &range->prefixlen, BPF_ANY);
}

static bool has(const struct nat_range_key *sorted, size_t count, const struct nat_range_key *range)
{
    return count && bsearch(range, sorted, count, sizeof(*sorted), nat_range_cmp);
}

/* Those that `keep` has not, if it is given, are removed. On failure the rest stays installed. */
static int remove_but(struct nat_plane *plane, struct nat_installed *installed, uint32_t bank,
                      const nat_range_list *keep)
{
    nat_range_list *ranges = &installed->ranges[bank];
    size_t kept = 0;
    int result = 0;
    for (size_t i = 0; i < ranges->count; i++) {
        struct nat_range_key range = ranges->items[i],
                             key = nat_range_key_of(&range, installed->id, bank);
        bool stays = keep && has(keep->items, keep->count, &range);
        int r = stays ? 0 : nat_table_remove(plane, NAT_MAP_RANGES, &key);
        if (stays || r < 0)
            ranges->items[kept++] = range;
        result = r < 0 ? r : result;
    }
    ranges->count = kept;
    return result;
}

int nat_ranges_fill(struct nat_change *change)
{
    change->at = NAT_MAP_RANGES;
    struct nat_installed *installed = change->installed;
    nat_range_list *ranges = &installed->ranges[change->bank];
    int r = remove_but(change->plane, installed, change->bank, &change->desired->ranges);
    size_t before = ranges->count;
    for (size_t i = 0; i < change->desired->ranges.count && r == 0; i++) {
        const struct nat_range_key *range = &change->desired->ranges.items[i];
        if (has(ranges->items, before, range))
            continue;
        r = put(change->plane, range, installed->id, change->bank);
        if (r == 0)
            ranges->items[ranges->count++] = *range;
    }
    vec_sort(ranges, nat_range_cmp);
    return r;
}

bool nat_range_is_there(const struct nat_plane *plane, const struct nat_range_key *range,
                        uint32_t service, uint32_t bank)
{
    struct nat_range_key key = nat_range_key_of(range, service, bank);
    uint32_t length;
    return nat_table_get(plane, NAT_MAP_RANGES, &key, &length) == 0 && length == range->prefixlen;
}

int nat_ranges_refresh(struct nat_plane *plane, struct nat_installed *installed)
{
    int result = 0;
    for (uint32_t bank = 0; bank < NAT_BANKS; bank++) {
        vec_each(const struct nat_range_key, range, &installed->ranges[bank]) {
            if (nat_range_is_there(plane, range, installed->id, bank))
                continue;
            int r = put(plane, range, installed->id, bank);
            if (r < 0)
                return r;
            result = 1;
        }
    }
    return result;
}

int nat_ranges_remove(struct nat_plane *plane, struct nat_installed *installed)
{
    int r = remove_but(plane, installed, 0, NULL);
    int second = remove_but(plane, installed, 1, NULL);
    return r < 0 ? r : second;
}

bool nat_ranges_match(const nat_range_list *ranges, const struct nat_desired *desired)
{
    if (ranges->count != desired->ranges.count)
        return false;
    for (size_t i = 0; i < ranges->count; i++) {
        if (nat_range_cmp(&ranges->items[i], &desired->ranges.items[i]) != 0)
            return false;
    }
    return true;
}
