// SPDX-License-Identifier: Apache-2.0

// Kubelet is what a node of Kubernetes runs, and the scheduler that gives it work: Kubernetes' own, each
// under its own name, of the version of the control plane in tests/kube/programs. It is a module of
// its own, because only tests with containers need it, and it pulls in as much again.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/component-base/cli"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	switch filepath.Base(os.Args[0]) {
	case "kubelet":
		os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	default:
		fmt.Fprintf(os.Stderr, "%s: call me kubelet or kube-scheduler\n", os.Args[0])
		os.Exit(64)
	}
}
