// SPDX-License-Identifier: Apache-2.0
/*
 * BIRD tells which files it has read by the defines in them: `show symbols` knows the name, `eval`
 * says the release. Files of before 0.1.0 have no such define; a function or filter of theirs tells
 * that they are there.
 *
 * Files of different releases load together (tests/check/test_bird_parse.py). So another release is
 * a warning, not a failure.
 */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "doctor/ask_bird.h"
#include "doctor/releases.h"
#include "doctor/visit.h"

enum { RELEASE_LEN = 32 };

/* The files of a node, with what each has that no other has; NULL: it is the operator's. */
static const struct bird_file {
    const char *name, *symbol, *release, *witness;
} bird_files[] = {
    { "fingerpost.conf", "FINGERPOST_RELEASE_FINGERPOST", FINGERPOST_RELEASE_FINGERPOST,
      "fingerpost_attributes" },
    { "gateways.conf", "FINGERPOST_RELEASE_GATEWAYS", FINGERPOST_RELEASE_GATEWAYS,
      "gateways_import_v4" },
    { "classes.conf", "FINGERPOST_RELEASE_CLASSES", FINGERPOST_RELEASE_CLASSES, NULL },
    { "node.conf", "FINGERPOST_RELEASE_NODE", FINGERPOST_RELEASE_NODE, NULL },
    { "node-egress.conf", "FINGERPOST_RELEASE_NODE_EGRESS", FINGERPOST_RELEASE_NODE_EGRESS, NULL },
};

/* The release of a file that BIRD has read; "" if it names none. False: BIRD has not read it. */
static bool has_read(struct bird_asker *asker, const struct bird_file *file,
                     char ret_release[static RELEASE_LEN])
{
    AUTOFREE char *question = text_format("eval %s", file->symbol);
    const struct bird_reply *reply;

    ret_release[0] = '\0';
    if (!bird_has_symbol(asker, file->symbol))
        return file->witness && bird_has_symbol(asker, file->witness);
    if (!question || bird_ask(asker, question, &reply) < 0 || !bird_reply_ok(reply))
        return false;
    snprintf(ret_release, RELEASE_LEN, "%s", bird_reply_last(reply));
    return true;
}

static void compare(struct visit *visit, const struct bird_file *file, const char *release,
                    struct text *good)
{
    AUTOFREE char *remedy = text_format(
        "compare it with /usr/share/fingerpost/birdconf/%s and take that (agentctl setup --write "
        "does for fingerpost.conf); birdc configure",
        file->name);
    const int order = *release ? strverscmp(release, file->release) : -1;

    if (order == 0)
        text_addf(good, "%s%s %s", good->length ? ", " : "", file->name, release);
    else if (!*release)
        visit_warn(visit, remedy, "%s is of before release %s, which changed it", file->name,
                   file->release);
    else if (order < 0)
        visit_warn(visit, remedy, "%s is of release %s; release %s changed it", file->name, release,
                   file->release);
    else
        visit_warn(visit, "upgrade Fingerpost on this node, or take the file of its release",
                   "%s is of release %s, newer than that of this agentctl: %s", file->name, release,
                   file->release);
}

static void check_releases(struct visit *visit)
{
    CLEANUP(bird_asker_closep) struct bird_asker *asker = NULL;
    AUTOTEXT struct text good = { 0 };
    char release[RELEASE_LEN];

    if (!visit->config || !visit->config->bird.socket ||
        bird_asker_open(visit->config->bird.socket, visit->timeout_ms, &asker) < 0) {
        visit_skip(visit, "BIRD is not asked");
        return;
    }
    const size_t before = visit->findings->list.count;
    for (size_t i = 0; i < ARRAY_SIZE(bird_files); i++) {
        if (has_read(asker, &bird_files[i], release))
            compare(visit, &bird_files[i], release, &good);
    }
    if (visit->findings->list.count > before)
        return;
    if (good.length)
        visit_good(visit, "%s", text_str(&good));
    else
        visit_skip(visit, "BIRD has read no file of birdconf/");
}

const struct check bird_release_checks[] = {
    { "bird.release", "BIRD's files of Fingerpost", "of the releases that agentctl is made with",
      check_releases },
    { NULL },
};
