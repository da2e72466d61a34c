//go:build !linux

package harness

import "syscall"

// endWithParent: other systems have no such request.
func endWithParent() *syscall.SysProcAttr { return nil }
