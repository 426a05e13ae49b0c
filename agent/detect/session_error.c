// SPDX-License-Identifier: Apache-2.0
/* Errors of BGP sessions, and the remedy of each; see session_error.h. */
#include "detect/session_error.h"

#include <string.h>

/* Error text and remedy; %a: the peer's address, %n: BIRD's protocol. */
static const struct {
    const char *words, *remedy;
} remedies[] = {
    { "Received: Bad peer AS",
      "give BIRD the AS that the peer expects of this node (`local as` of %n), or the peer this one" },
    { "Error: Bad peer AS",
      "give %n the peer's own AS: `neighbor %a as ...`; the peer's log has it" },
    { "Hold timer expired",
      "nothing came from the peer: see that no firewall drops TCP port 179 on the way (nft list "
      "ruleset), and that its BGP runs; ping %a" },
    { "Received: Administrative", "enable the session at the peer; somebody disabled it there" },
    { "Route limit exceeded", "raise the limit of %n that it reached (`import limit`, `receive "
                              "limit` or `export limit`), or take fewer routes; then: birdc enable "
                              "%n" },
    { "Maximum number of prefixes", "raise the peer's limit of prefixes for this node" },
    { "Neighbor lost",
      "see that the link to the peer is up, and that this node has an address in the peer's network: "
      "ip route get %a; ip -br link; ip -br addr" },
    { "Connection refused", "start BGP at the peer, or give it this node as a neighbor; ping %a" },
    { "No route to host", "correct the neighbor's address in %n, or see that it is up: ping %a" },
    { "Network is unreachable", "give this node a route to the peer: ip route get %a" },
    { "Connection reset",
      "compare both ends: addresses, AS numbers, passwords; the peer's log has its reason; ping %a" },
    { "Connection closed",
      "compare both ends: addresses, AS numbers, passwords; the peer's log has its reason; ping %a" },
    { "timed out", "see that no firewall drops TCP port 179 on the way, and that passwords are the "
                   "same at both ends; ping %a" },
    { "",
      "compare addresses, AS numbers and passwords at both ends, and ask the peer's side for its reason; check: ping %a" },
};

static void fill_in(const char *pattern, const struct bgp_peer *peer, struct text *out)
{
    for (const char *at = pattern; *at; at++) {
        if (at[0] == '%' && (at[1] == 'a' || at[1] == 'n'))
            text_add(out, *++at == 'a' ? peer->address : peer->name);
        else
            text_add_char(out, *at);
    }
}

void session_error_explain(const struct bgp_peer *peer, struct text *reason, struct text *remedy)
{
    size_t i = 0;
    if (!*peer->last_error && strcmp(peer->state, "Passive") == 0) {
        text_add(reason, "this end waits for the peer to connect (passive), and it does not");
        text_addf(
            remedy,
            "take `passive` out of %s, if the peer is passive as well; else see that the peer "
            "has this node as a neighbor",
            peer->name);
        return;
    }
    text_add(reason, *peer->last_error ? peer->last_error : "BIRD has no error to tell");
    if (strstr(peer->last_error, "Bad peer AS") && peer->local_asn)
        text_addf(reason, " (this node's is %u)", peer->local_asn);
    while (!strstr(peer->last_error, remedies[i].words))
        i++;
    fill_in(remedies[i].remedy, peer, remedy);
}
