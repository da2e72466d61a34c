package harness

import "syscall"

// endWithParent asks Linux to drain a process when the test process dies before it could stop it.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
