//go:build !linux

package harness

import "syscall"

// endWithParent does nothing: only Linux has such a signal.
func endWithParent() *syscall.SysProcAttr { return nil }
