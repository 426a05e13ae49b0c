// SPDX-License-Identifier: Apache-2.0
/*
 * What agentd.service may read. The doctor is run by root, who may read everything; the agent is
 * not: a file of mode 0600 that root has written keeps it from starting, or from its objects, and
 * all other checks find nothing.
 *
 * So the question is asked as the agent's user, with that user's groups, by faccessat(2) and the
 * effective ids; agentctl has one thread, and is root again afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "doctor/visit.h"

#define AGENT_USER "fingerpost" /* of agentd.service */

enum { GROUPS_MAX = 64 };

struct identity {
    gid_t groups[GROUPS_MAX];
    int count;
};

static int become(const struct passwd *user)
{
    if (initgroups(user->pw_name, user->pw_gid) < 0 || setegid(user->pw_gid) < 0 ||
        seteuid(user->pw_uid) < 0)
        return -errno;
    return 0;
}

/* Nothing may go on as half of another user. */
static void be_root_again(const struct identity *root)
{
    if (seteuid(0) < 0 || setegid(0) < 0 || setgroups((size_t)root->count, root->groups) < 0) {
        log_error("cannot be root again: %s", strerror(errno));
        _exit(EXIT_FAILURE);
    }
}

/* Whether the agent's user may do this with a path: 0, or -errno. */
static int try_as(const struct passwd *user, const char *path, int mode)
{
    struct identity root = { .count = getgroups(GROUPS_MAX, root.groups) };
    if (root.count < 0)
        return -errno;
    int r = become(user);
    if (r == 0 && faccessat(AT_FDCWD, path, mode, AT_EACCESS) < 0)
        r = -errno;
    be_root_again(&root);
    return r;
}

/* NULL after saying why this can't be asked here. */
static const struct passwd *agent_user(struct visit *visit)
{
    const struct passwd *user = getpwnam(AGENT_USER);
    if (geteuid() != 0)
        visit_skip(visit, "only root can try what another user may");
    else if (!user)
        visit_skip(visit, "there is no user %s, as which agentd.service runs", AGENT_USER);
    else
        return user;
    return NULL;
}

/* Other errors than a lack of rights are told by the checks of what the path is. */
static void check_path(struct visit *visit, const struct passwd *user, const char *path, int mode,
                       const char *remedy)
{
    if (path && try_as(user, path, mode) == -EACCES)
        visit_fail(visit, remedy, "%s may not %s %s", AGENT_USER, mode & W_OK ? "use" : "read",
                   path);
}

static void check_files(struct visit *visit)
{
    static const char file[] = "chgrp fingerpost FILE; chmod g+r FILE; and see: namei -l FILE";
    static const char folder[] = "chgrp fingerpost DIR; chmod g+rx DIR; and see: namei -l DIR";
    const struct passwd *user = agent_user(visit);
    if (!user)
        return;
    check_path(visit, user, visit->path, R_OK, file);
    if (!visit->config)
        return;
    check_path(visit, user, visit->config->source.kubeconfig, R_OK, file);
    check_path(visit, user, visit->config->source.manifests, R_OK | X_OK, folder);
}

static void check_bird(struct visit *visit)
{
    const struct passwd *user = agent_user(visit);
    if (user && visit->config)
        check_path(visit, user, visit->config->bird.socket, R_OK | W_OK,
                   "put it into the group of that socket: usermod -aG bird fingerpost; then "
                   "systemctl restart agentd");
}

const struct check user_checks[] = {
    { "user.files", "agentd's rights", "its user can read what it is configured by", check_files },
    { "user.bird", "agentd and BIRD", "its user can use BIRD's socket", check_bird },
    { NULL },
};
