// SPDX-License-Identifier: Apache-2.0
/*
 * The source ranges of one Service in the trie "ranges", a list for each bank.
 *
 * A change writes the desired list into the idle bank. The other list is unchanged, for packets
 * that are being checked by it just now, until the next change fills its bank. While the ranges
 * stay the same both lists are equal, and nothing is written.
 *
 * A lookup in a trie finds the longest matching prefix. The value of an entry is therefore the
 * length of its prefix: that shows whether the entry found is the one that was searched for.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>

#include "apply/nat/maps/table.h"
#include "apply/nat/services/ranges.h"

struct nat_range_key nat_range_key_of(const struct nat_range_key *range, uint32_t service,
                                      uint32_t bank)
{
    struct nat_range_key key = *range;
    key.owner = htonl(service << 1 | bank);
    return key;
}

static int put(struct nat_datapath *datapath, const struct nat_range_key *range, uint32_t service,
               uint32_t bank)
{
    struct nat_range_key key = nat_range_key_of(range, service, bank);
    return nat_table_put(datapath, NAT_MAP_RANGES, &key, &range->prefixlen, BPF_ANY);
}

static bool has(const struct nat_range_key *sorted, size_t count, const struct nat_range_key *range)
{
    return count && bsearch(range, sorted, count, sizeof(*sorted), nat_range_cmp);
}

/*
 * Removes the ranges of a bank that `keep` does not have; NULL: all of them. A range that the
 * kernel fails to remove stays installed, and the others are still removed: a new Service may get
 * the id, and would admit the remaining ranges.
 */
static int remove_but(struct nat_datapath *datapath, struct nat_installed *installed, uint32_t bank,
                      const nat_range_list *keep)
{
    nat_range_list *ranges = &installed->ranges[bank];
    size_t kept = 0;
    int result = 0;
    for (size_t i = 0; i < ranges->count; i++) {
        struct nat_range_key range = ranges->items[i],
                             key = nat_range_key_of(&range, installed->id, bank);
        bool stays = keep && has(keep->items, keep->count, &range);
        int r = stays ? 0 : nat_table_remove(datapath, NAT_MAP_RANGES, &key);
        if (stays || r < 0)
            ranges->items[kept++] = range;
        result = r < 0 ? r : result;
    }
    ranges->count = kept;
    return result;
}

/* Appends the written ranges to `ranges`, which are not sorted then. */
static int put_missing(struct nat_change *change, nat_range_list *ranges)
{
    size_t before = ranges->count;
    vec_each(const struct nat_range_key, range, &change->desired->ranges) {
        if (has(ranges->items, before, range))
            continue;
        int r = put(change->datapath, range, change->installed->id, change->bank);
        if (r < 0)
            return r;
        ranges->items[ranges->count++] = *range;
    }
    return 0;
}

int nat_ranges_fill(struct nat_change *change)
{
    change->at = NAT_MAP_RANGES;
    struct nat_installed *installed = change->installed;
    nat_range_list *ranges = &installed->ranges[change->bank];
    int r = remove_but(change->datapath, installed, change->bank, &change->desired->ranges);
    if (r < 0)
        return r;
    r = put_missing(change, ranges);
    vec_sort(ranges, nat_range_cmp);
    return r;
}

bool nat_range_is_there(const struct nat_datapath *datapath, const struct nat_range_key *range,
                        uint32_t service, uint32_t bank)
{
    struct nat_range_key key = nat_range_key_of(range, service, bank);
    uint32_t length;
    return nat_table_get(datapath, NAT_MAP_RANGES, &key, &length) == 0 &&
           length == range->prefixlen;
}

int nat_ranges_refresh(struct nat_datapath *datapath, struct nat_installed *installed)
{
    int result = 0;
    for (uint32_t bank = 0; bank < NAT_BANKS; bank++) {
        vec_each(const struct nat_range_key, range, &installed->ranges[bank]) {
            if (nat_range_is_there(datapath, range, installed->id, bank))
                continue;
            int r = put(datapath, range, installed->id, bank);
            if (r < 0)
                return r;
            result = 1;
        }
    }
    return result;
}

int nat_ranges_remove(struct nat_datapath *datapath, struct nat_installed *installed)
{
    int r = remove_but(datapath, installed, 0, NULL);
    int second = remove_but(datapath, installed, 1, NULL);
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
