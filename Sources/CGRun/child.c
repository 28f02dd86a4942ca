// SPDX-License-Identifier: Apache-2.0
// Waits for child processes, with a descriptor (pidfd) for each child. The library needs no handler for SIGCHLD, and
// does not touch the children of other code.

#define _GNU_SOURCE

#include "cgrun.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Headers older than Linux 5.4 have neither SYS_pidfd_open nor P_PIDFD.
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
enum { BY_DESCRIPTOR = 3 }; // P_PIDFD

int cgrun_child_open(pid_t pid)
{
    // Every pidfd is close-on-exec.
    return syscall(SYS_pidfd_open, pid, 0);
}

static int wait_status(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return (info->si_status & 0xff) << 8;
    return info->si_status | (info->si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

// libc's waitid() is a cancellation point: if pthread_cancel() ended the thread there, the status would be lost.
int cgrun_child_wait(int child, bool reaps, int *status)
{
    siginfo_t info = {0};
    if (syscall(SYS_waitid, BY_DESCRIPTOR, child, &info, WEXITED | WNOHANG | (reaps ? 0 : WNOWAIT), NULL) != 0)
        return -1;
    if (info.si_pid == 0)
        return 0;
    *status = wait_status(&info);
    return 1;
}

bool cgrun_children_are_discarded(void)
{
    struct sigaction action;
    return sigaction(SIGCHLD, NULL, &action) == 0 &&
           (action.sa_handler == SIG_IGN || (action.sa_flags & SA_NOCLDWAIT) != 0);
}
