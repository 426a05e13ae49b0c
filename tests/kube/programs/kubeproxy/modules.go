// SPDX-License-Identifier: Apache-2.0

//go:build never

// What kube-proxy's own files import, which join this package when it is built: "go mod tidy" doesn't
// see them, and would drop their modules. Never compiled.
package nftables

import (
	_ "github.com/stretchr/testify/assert"
	_ "k8s.io/kubernetes/pkg/proxy/nftables"
)
