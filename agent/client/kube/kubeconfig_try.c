// SPDX-License-Identifier: Apache-2.0
/*
 * Checks whether requests could be made with a kubeconfig, without making one; called where a
 * configuration is only checked.
 *
 * The content of the kubeconfig and of the files that it names is passed to libcurl as for a
 * request. The connection is made to a socket of this process: no name is resolved, no host is
 * contacted. libcurl has OpenSSL load certificate and key when the connection is established, and
 * the CA when it reads the first answer, which never arrives.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "client/kube/kube_failure.h"
#include "client/kube/kube_setup.h"
#include "faults/kubeconfig.h"
#include "faults/raise.h"
#include "loop/curl.h"

DEFINE_CLEANUP(CURL *, curl_easy_cleanup);

/* Listens on an abstract address that the kernel assigns. Returns the socket or -errno. */
static int listen_somewhere(struct sockaddr_un *ret_address)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t size = sizeof(address);
    AUTOCLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address.sun_family)) < 0 ||
        listen(fd, 1) < 0 || getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        return -errno;
    *ret_address = address;
    return TAKE_FD(fd);
}

struct trial {
    int listener, peer; /* accepted after certificate and key were loaded */
};

/* Ends the answer, but keeps the read side open: so there is no broken pipe. */
static CURLcode end_answer(CURL *easy, void *ssl, void *context)
{
    (void)easy, (void)ssl;
    struct trial *trial = context;
    trial->peer = accept4(trial->listener, NULL, NULL, SOCK_CLOEXEC);
    return trial->peer >= 0 && shutdown(trial->peer, SHUT_WR) == 0 ? CURLE_OK
                                                                   : CURLE_ABORTED_BY_CALLBACK;
}

static CURLcode carry_out(CURL *easy, const char *name, struct trial *trial, char *error)
{
    CURLcode r;
    if ((r = curl_easy_setopt(easy, CURLOPT_ABSTRACT_UNIX_SOCKET, name)) != CURLE_OK ||
        (r = curl_easy_setopt(easy, CURLOPT_PROXY, "")) != CURLE_OK ||
        (r = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, end_answer)) != CURLE_OK ||
        (r = curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, trial)) != CURLE_OK ||
        (r = curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error)) != CURLE_OK)
        return r;
    return curl_easy_perform(easy);
}

/* `error` must outlive the handle. */
static int try_tls(CURL *easy, const struct kube_config *config, const char *place,
                   char error[static CURL_ERROR_SIZE], struct faults *errors)
{
    struct sockaddr_un address;
    char why[KUBE_ERROR_LEN], words[CURL_ERROR_SIZE];
    AUTOCLOSE int listener = listen_somewhere(&address);
    if (listener < 0)
        return listener;
    struct trial trial = { .listener = listener, .peer = -1 };
    CURLcode code = carry_out(easy, address.sun_path + 1, &trial, error);
    AUTOCLOSE int peer = trial.peer;
    if (code == CURLE_OUT_OF_MEMORY)
        return -ENOMEM;
    if (peer >= 0 && code != CURLE_SSL_CACERT_BADFILE)
        return 0; /* all was loaded, and the request failed as intended */
    const char *remedy = kube_failure_read(code, 0, curl_error(code, error, words), config, why);
    fault_raise(errors, place, kubeconfig_tls_refused, .error = why, .remedy = remedy);
    return -EBADMSG;
}

int kube_config_try(const char *path, struct faults *errors)
{
    const struct kube_call call = { .path = "/" };
    char error[CURL_ERROR_SIZE] = "";
    CLEANUP(kube_config_freep) struct kube_config *config = NULL;
    CLEANUP(kube_lists_done) struct kube_lists lists = { 0 };
    CLEANUP(curl_easy_cleanupp) CURL *easy = curl_easy_init();
    int r = easy ? kube_config_load(path, &config, errors) : -ENOMEM;
    if (r < 0)
        return r;
    r = kube_setup(easy, config, &call, &lists, error);
    if (r < 0) {
        fault_raise(errors, path, kubeconfig_setup_failed, .reason = error);
        return r;
    }
    bool tls = strncmp(config->server, "https:", 6) == 0;
    return tls ? try_tls(easy, config, path, error, errors) : 0;
}
