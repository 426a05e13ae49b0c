# SPDX-License-Identifier: Apache-2.0
"""The programs of a Kubernetes control plane, built from tests/kube/programs when first needed.

It is one Go program under four names. Building it takes minutes, so that it is kept in build-kube
and made anew only when its source or its modules changed; Go's own caches do the rest. Consul's
agent is built alike, from tests/consul/program, a module of its own: the two want other versions
of what they share; so are cnitool, from tests/cni/program, and what tests with containers need besides,
kubelet and kube-scheduler, from tests/cni/kubelet.

Beside it there is a program that takes part in elections by client-go's own code (programs/elector), and
kube-proxy's nftables package with programs/kubeproxy in it, which tells what
kube-proxy makes of packets. It comes from the same modules: none of it is kept here.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "tests" / "kube" / "programs"
BUILD = REPOSITORY / "build-kube"
NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
CONSUL = REPOSITORY / "tests" / "consul" / "program"
CNITOOL = REPOSITORY / "tests" / "cni" / "program"
KUBELET = REPOSITORY / "tests" / "cni" / "kubelet"
CNITOOL_PACKAGE = "github.com/containernetworking/cni/cnitool"
ELECTOR = SOURCE / "elector" / "main.go"
PROXY = SOURCE / "kubeproxy"
PROXY_FILES = ("proxier.go", "proxier_test.go")  # of Kubernetes, to join it as they are
TRACER = "helpers_test.go"  # with corrections
CORRECTIONS = {
    # It wants each address of a set to match. oracle_test.go has one that wants any of them, which
    # takes its place.
    ") addressMatchesSet(": ") addressMatchesWholeSet(",
}


class NoGo(Exception):
    """There is no Go to build with that is new enough, or no way to the modules."""


class BuildFailed(Exception):
    """What the build said."""


def usable(go, source):
    """Whether this Go is new enough for the module, or knows how to become so."""
    done = subprocess.run([go, "list", "-m"], cwd=source, capture_output=True)
    return done.returncode == 0


def find_go(source):
    """The Go to build with; None if there is none new enough."""
    candidates = [shutil.which("go"), "/usr/local/go/bin/go"]
    return next((go for go in candidates if go and Path(go).exists() and usable(go, source)), None)


def modules(source):
    return [source / name for name in ("go.mod", "go.sum")]


def up_to_date(built, sources):
    return built.exists() and built.stat().st_mtime > max(s.stat().st_mtime for s in sources)


def link_flags():
    """No debugging information; and the version, which Kubernetes' own build puts in like this."""
    version = re.search(r"k8s\.io/kubernetes (v\S+)", (SOURCE / "go.mod").read_text())[1]
    names = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(["-s -w", *[f"-X {name}.gitVersion={version}" for name in names]])


def fetch_modules(go, source):
    """What the network gives, apart from what the source says."""
    done = subprocess.run([go, "mod", "download"], cwd=source, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise NoGo(f"Go's modules can't be fetched: {done.stdout[-2000:]}")


def compile_to(name, command, source=SOURCE):
    """`command`, which takes "-o FILE", in the folder of the source."""
    draft = BUILD / f"{name}.draft"
    command = ["nice", "-n", "15", *command[:-1], "-o", str(draft), command[-1]]
    done = subprocess.run(command, cwd=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode != 0:
        raise BuildFailed(f"{' '.join(command)} in {source}:\n{done.stdout}")
    os.replace(draft, BUILD / name)


def compile_programs(go):
    flags = ["-trimpath", "-buildvcs=false", f"-ldflags={link_flags()}"]
    compile_to("kube", [go, "build", *flags, "."])


def compile_kubelet(go):
    flags = ["-trimpath", "-buildvcs=false", f"-ldflags={link_flags()}"]
    compile_to("kubelet", [go, "build", *flags, "."], KUBELET)


def compile_elector(go):
    compile_to("elector", [go, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "./elector"])


def proxy_folder(go):
    """Where Kubernetes' module has the source of kube-proxy's nftables."""
    command = [go, "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"]
    done = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildFailed(f"{' '.join(command)} in {SOURCE}:\n{done.stderr}")
    return Path(done.stdout.strip()) / "pkg" / "proxy" / "nftables"


def corrected(text):
    for old, new in CORRECTIONS.items():
        if text.count(old) != 1:
            raise BuildFailed(f"kube-proxy's {TRACER} has {old!r} {text.count(old)} times, not once: "
                              f"see CORRECTIONS in {__file__}")
        text = text.replace(old, new)
    return text


def overlay(folder):
    """What has Go see kube-proxy's files beside oracle_test.go."""
    for name in (TRACER, *PROXY_FILES):
        if not (folder / name).is_file():
            raise BuildFailed(f"kube-proxy has no file {name} in {folder}: this Kubernetes keeps it "
                              f"elsewhere; see TRACER and PROXY_FILES in {__file__}")
    tracer = BUILD / TRACER
    tracer.write_text(corrected((folder / TRACER).read_text(encoding="utf-8")), encoding="utf-8")
    places = {str(PROXY / name): str(folder / name) for name in PROXY_FILES}
    places[str(PROXY / TRACER)] = str(tracer)
    path = BUILD / "overlay.json"
    path.write_text(json.dumps({"Replace": places}), encoding="utf-8")
    return path


def compile_oracle(go):
    flags = ["-tags=oracle", "-trimpath", "-ldflags=-s -w"]
    flags.append(f"-overlay={overlay(proxy_folder(go))}")
    compile_to("kube-proxy-oracle", [go, "test", "-c", *flags, "./kubeproxy"])


def compile_consul(go):
    flags = ["-trimpath", "-buildvcs=false", "-ldflags=-s -w"]
    compile_to("consul", [go, "build", *flags, "."], CONSUL)


def compile_cnitool(go):
    flags = ["-trimpath", "-buildvcs=false", "-ldflags=-s -w"]
    compile_to("cnitool", [go, "build", *flags, CNITOOL_PACKAGE], CNITOOL)


def make(name, sources, compile_it, source=SOURCE):
    """Builds it if it is missing. Several may ask at once; who asks for what is there already does not
    wait until others' is. NoGo or BuildFailed."""
    if up_to_date(BUILD / name, [*sources, *modules(source)]):
        return
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if up_to_date(BUILD / name, [*sources, *modules(source)]):
            return
        go = find_go(source)
        if not go:
            raise NoGo(f"no Go new enough for {source.relative_to(REPOSITORY)}/go.mod, neither in the "
                       "PATH nor in /usr/local/go")
        fetch_modules(go, source)
        compile_it(go)


def build():
    """The programs of a control plane, and the elector."""
    make("kube", [SOURCE / "main.go"], compile_programs)
    for name in NAMES:
        if not (BUILD / name).is_symlink():
            (BUILD / name).symlink_to("kube")
    make("elector", [ELECTOR], compile_elector)


def build_oracle():
    """What tells kube-proxy's mind."""
    make("kube-proxy-oracle", [*PROXY.glob("*.go"), Path(__file__)], compile_oracle)


def build_consul():
    """Consul's agent."""
    make("consul", [CONSUL / "main.go"], compile_consul, CONSUL)


def build_cnitool():
    """What calls CNI plugins by libcni, as container runtimes do."""
    make("cnitool", [], compile_cnitool, CNITOOL)


def build_kubelet():
    """Kubernetes' kubelet and scheduler."""
    make("kubelet", [KUBELET / "main.go"], compile_kubelet, KUBELET)
    if not (BUILD / "kube-scheduler").is_symlink():
        (BUILD / "kube-scheduler").symlink_to("kubelet")


def program(name):
    path = BUILD / name
    if not path.exists():
        raise FileNotFoundError(f"{path}: not built; run tools/test kube")
    return str(path)


def main():
    """kube_programs.py programs|oracle|consul|cnitool|kubelet: exit status 77 where there is no Go."""
    try:
        {"programs": build, "oracle": build_oracle, "consul": build_consul,
         "cnitool": build_cnitool, "kubelet": build_kubelet}[sys.argv[1]]()
    except NoGo as error:
        print(error)
        return 77
    except BuildFailed as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
