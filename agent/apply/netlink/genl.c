// SPDX-License-Identifier: Apache-2.0
/*
 * Resolves names by a request to "nlctrl", the only family with a fixed number. Its reply has
 * everything of a family, groups included: each is an attribute in a nest, of which every member is
 * again a nest (seen on 6.18; so since groups exist, 2.6.23).
 */
#include "apply/netlink/genl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>

#include "base/macro.h"

/* The names to find in a reply, and the results. */
struct answer {
    const char *group; /* NULL: only the family */
    struct genl_family family;
    uint32_t group_id; /* 0: there is no such group */
};

void genl_begin(struct nl_request *request, const struct genl_family *family, uint8_t command,
                uint16_t flags)
{
    const struct genlmsghdr fixed = { .cmd = command, .version = (uint8_t)family->version };
    nl_begin(request, family->id, flags, &fixed, sizeof(fixed));
}

/* The id of a group, if its name is this one; otherwise 0. */
static uint32_t group_id(const struct nlattr *group, const char *wanted)
{
    const struct nlattr *name = nl_find(group, CTRL_ATTR_MCAST_GRP_NAME);
    const struct nlattr *id = nl_find(group, CTRL_ATTR_MCAST_GRP_ID);
    size_t size = strlen(wanted) + 1;
    if (!name || !id || mnl_attr_get_payload_len(id) != sizeof(uint32_t) ||
        mnl_attr_get_payload_len(name) != size ||
        memcmp(mnl_attr_get_payload(name), wanted, size) != 0)
        return 0;
    return mnl_attr_get_u32(id);
}

static uint32_t find_group(const struct nlattr *groups, const char *wanted)
{
    const char *end = (const char *)mnl_attr_get_payload(groups) + mnl_attr_get_payload_len(groups);
    const struct nlattr *it = mnl_attr_get_payload(groups);
    uint32_t id = 0;
    for (; id == 0 && mnl_attr_ok(it, (int)(end - (const char *)it)); it = mnl_attr_next(it))
        id = group_id(it, wanted);
    return id;
}

static int on_family(const struct nlmsghdr *row, void *context)
{
    static const struct nl_wanted wanted[] = {
        { CTRL_ATTR_FAMILY_ID, sizeof(uint16_t) },
        { CTRL_ATTR_VERSION, sizeof(uint32_t) },
    };
    struct answer *answer = context;
    const struct nlattr *attributes[CTRL_ATTR_VERSION + 1], *it = NULL;
    nl_parse(row, sizeof(struct genlmsghdr), wanted, ARRAY_SIZE(wanted), attributes,
             CTRL_ATTR_VERSION);
    if (!attributes[CTRL_ATTR_FAMILY_ID] || !attributes[CTRL_ATTR_VERSION])
        return 0;
    answer->family.id = mnl_attr_get_u16(attributes[CTRL_ATTR_FAMILY_ID]);
    answer->family.version = mnl_attr_get_u32(attributes[CTRL_ATTR_VERSION]);
    while (answer->group && (it = nl_next_attribute(row, sizeof(struct genlmsghdr), it))) {
        if (mnl_attr_get_type(it) == CTRL_ATTR_MCAST_GROUPS)
            answer->group_id = find_group(it, answer->group);
    }
    return 0;
}

static int ask(struct nl_socket *socket, const char *name, struct answer *answer)
{
    static const struct genl_family control = { .id = GENL_ID_CTRL, .version = 2 };
    struct nl_request request;
    genl_begin(&request, &control, CTRL_CMD_GETFAMILY, 0);
    nl_put_string(&request, CTRL_ATTR_FAMILY_NAME, name);
    int r = nl_get(socket, &request, on_family, answer);
    if (r < 0)
        return r;
    return answer->family.id == 0 ? -EPROTO : 0;
}

int genl_find(struct nl_socket *socket, const char *name, struct genl_family *ret_family)
{
    struct answer answer = { 0 };
    int r = ask(socket, name, &answer);
    if (r < 0)
        return r;
    *ret_family = answer.family;
    return 0;
}

int genl_group(struct nl_socket *socket, const char *family, const char *name, uint32_t *ret_group)
{
    struct answer answer = { .group = name };
    int r = ask(socket, family, &answer);
    if (r < 0)
        return r;
    if (answer.group_id == 0)
        return -ENOENT;
    *ret_group = answer.group_id;
    return 0;
}
