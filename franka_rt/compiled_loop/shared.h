/* The memory shared with Python (layout.h is made by memory.py), and the program's only way out. */

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "layout.h"

static char *shared;      /* where the shared memory begins */
static struct plan plan;  /* a copy, so that the loop reads nothing that another process could change */
static struct live *live;
static struct report *report;
static bool moving;       /* from here on the arm has to be stopped when something goes wrong */

static void *region(int64_t offset)
{
    return shared + offset;
}

static int64_t load(const int64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(int64_t *word, int64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Whether the motion may still be running when the program ends for this reason, and nobody else sees to it. */
static bool needs_stop(enum reason reason)
{
    switch (reason) {
    case REASON_FINISHED:
    case REASON_WATCHDOG:
    case REASON_ORPHANED:
        return !report->confirmed;
    case REASON_BROKEN: /* the robot has ended it */
    case REASON_HALTED: /* Python asked, and stops the motion */
    case REASON_SETUP_FAILED:
        return false;
    default:
        return true;
    }
}

/* One short message in one call: it cannot be torn apart by what other threads send. Safe in a signal handler. */
static void stop_motion(void)
{
    const ssize_t sent = send(plan.tcp, region(plan.stop_message_at), plan.stop_size, MSG_NOSIGNAL);
    report->stop_sent = sent == plan.stop_size;
}

_Noreturn static void end(enum reason reason, int64_t detail)
{
    if (moving && needs_stop(reason))
        stop_motion();
    report->detail = detail;
    store(&report->reason, reason);
    _exit(0);
}
