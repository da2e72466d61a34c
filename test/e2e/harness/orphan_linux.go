package harness

import "syscall"

// endWithParent makes Linux drain the process when the test process is killed before it could stop it.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
