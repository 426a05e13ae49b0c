// SPDX-License-Identifier: Apache-2.0
/*
 * Checks whether the kernel answers ARP for addresses that this node holds: with arp_ignore=8 no
 * host can resolve them, and the kernel sends no notification when that is set. Hundreds of
 * addresses are mostly on one interface, which is checked once.
 */
#include <string.h>

#include "apply/settings.h"
#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "faults/claims.h"
#include "faults/raise.h"
#include "segment/claims_inside.h"

enum { ARP_NEVER = 8 };

static void check_interface(const struct claim_address *address, struct faults *faults)
{
    const char *const names[] = { address->interface, "all" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        AUTOFREE char *key = setting_key("ipv4", names[i], "arp_ignore");
        char ip[IP_STRLEN];
        long value;
        if (key && setting_read(key, &value) == 0 && value == ARP_NEVER)
            fault_raise(faults, key, claim_arp_ignored, .value = value,
                        .address = ip_str(&address->ip, ip), .setting = key);
    }
}

static void tell(const struct claims *claims, const struct faults *faults)
{
    (void)fault_book_replace(claims->options.faults, "addresses", "settings", faults,
                             clock_wall_ms());
}

static bool look_at_answers(void *context, int64_t now_ms)
{
    const struct claims *claims = context;
    AUTOFAULTS struct faults faults = { 0 };
    const char *looked_at = "";
    (void)now_ms;
    vec_each(struct own_claim *const, claim, &claims->list) {
        vec_each(const struct claim_address, address, &(*claim)->addresses) {
            if (!address->installed || address->ip.family != IP_V4 || !faults_none(&faults) ||
                strcmp(address->interface, looked_at) == 0)
                continue;
            check_interface(address, &faults);
            looked_at = address->interface;
        }
    }
    tell(claims, &faults);
    return false;
}

static const struct look looks[] = { { "arp answers", 500, look_at_answers, NULL } };

int claim_answers_begin(struct claims *claims)
{
    return looks_add(claims->options.looks, looks, ARRAY_SIZE(looks), claims);
}

void claim_answers_end(struct claims *claims)
{
    static const struct faults none;
    looks_drop(claims->options.looks, claims);
    tell(claims, &none);
}
