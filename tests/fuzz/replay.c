// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a fuzz target over corpora: replay DIRECTORY... One line of TAP for each directory, which is
 * read with all that is below it; a directory without files is a failure. An input that crashes
 * is named by the last comment line.
 */
#include <ftw.h>
#include <stdbool.h>
#include <string.h>

#include "base/files/file.h"
#include "fuzz.h"

enum { INPUT_MAX = 1 << 20, OPEN_MAX = 8 };

static size_t inputs;

static int run_file(const char *path, const struct stat *st, int type, struct FTW *place)
{
    (void)st;
    (void)place;
    if (type != FTW_F)
        return 0;
    char *content;
    size_t size;
    if (file_read(path, INPUT_MAX, &content, &size) < 0) {
        printf("# %s can't be read\n", path);
        return -1;
    }
    printf("# %s\n", path);
    fflush(stdout);

    /* Without a byte behind its end, so that reading on is seen. */
    uint8_t *exact = malloc(size);
    MUST(exact || size == 0);
    if (size > 0)
        memcpy(exact, content, size);
    free(content);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    inputs++;
    return 0;
}

int main(int argc, char **argv)
{
    int failures = 0;
    printf("1..%d\n", argc - 1);
    for (int i = 1; i < argc; i++) {
        inputs = 0;
        bool good = nftw(argv[i], run_file, OPEN_MAX, FTW_PHYS) == 0 && inputs > 0;
        failures += !good;
        printf("%s %d - %zu inputs of %s\n", good ? "ok" : "not ok", i, inputs, argv[i]);
    }
    return failures ? 1 : 0;
}
