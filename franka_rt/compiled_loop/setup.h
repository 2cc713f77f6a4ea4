/* Before the motion: memory, kernel, signals, scheduling. What fails here is told to Python, and nothing has moved. */

#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "conditioning.h"

_Noreturn static void fail_setup(enum setup what, int64_t detail, const char *text)
{
    report->setup = what;
    snprintf(report->text, sizeof report->text, "%s", text ? text : "");
    end(REASON_SETUP_FAILED, detail);
}

/* Without the memory there is nowhere to say what is wrong. */
static void map_memory(int descriptor)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        _exit(1);
    shared = mmap(NULL, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (shared == MAP_FAILED)
        _exit(1);
    memcpy(&plan, shared + PLAN_AT, sizeof plan);
    live = region(LIVE_AT);
    report = region(REPORT_AT);
    inputs = region(plan.inputs_at);
    outputs = region(plan.outputs_at);
}

static void *zeros(int64_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        fail_setup(SETUP_KERNEL, ENOMEM, "no memory");
    return memory;
}

static void allocate(void)
{
    const int64_t *places = region(plan.leaves_at);
    incoming = zeros(plan.state_size + 1);
    command = zeros(plan.command_size);
    staging = zeros(sizeof(struct set_head) + plan.input_words * (int64_t)sizeof(double));
    leaves = zeros((plan.leaf_count + 1) * (int64_t)sizeof *leaves);
    for (int64_t i = 0; i < plan.leaf_count; i++)
        leaves[i] = (i < plan.input_count ? inputs : outputs) + places[i];
}

/* The kernel lies in memory, too. It is called a few times so that its pages and tables are there when it counts. */
static void load_kernel(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", (int)plan.kernel);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "kernel_call") : NULL;
    if (!symbol)
        fail_setup(SETUP_KERNEL, 0, dlerror());
    memcpy(&kernel, &symbol, sizeof kernel);
    for (int i = 0; i < 3; i++)
        kernel(leaves);
}

static void crash(int number)
{
    end(REASON_CRASHED, number);
}

static void wake(int number)
{
    (void)number; /* it is enough that a waiting call returns */
}

/* Whatever ends the program stops the arm first. Ctrl-C at the terminal is Python's business. */
static void handle_signals(void)
{
    static char stack[65536];
    const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = crash, .sa_flags = SA_ONSTACK | SA_RESETHAND};
    sigset_t none;
    sigaltstack(&alternative, NULL);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        sigaction(fatal[i], &action, NULL);
    action.sa_handler = wake;
    action.sa_flags = 0;
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void refused(enum setup what)
{
    if (plan.enforce)
        fail_setup(what, errno, NULL);
}

/* As scheduling.py does it for the thread of a Python loop. */
static void schedule(void)
{
    if (plan.lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        refused(SETUP_MEMORY_LOCK);
    if (plan.core >= 0) {
        cpu_set_t cores;
        CPU_ZERO(&cores);
        CPU_SET(plan.core, &cores);
        if (sched_setaffinity(0, sizeof cores, &cores) != 0)
            refused(SETUP_AFFINITY);
    }
    const struct sched_param parameters = {.sched_priority = plan.priority};
    if (plan.priority > 0 && sched_setscheduler(0, SCHED_FIFO, &parameters) != 0)
        refused(SETUP_SCHEDULER);
}

static bool is_orphan(void)
{
    return getppid() != plan.parent;
}

/* Say that all is well, and wait until Python has started the motion or given up. */
static void wait_for_start(void)
{
    char byte = 0;
    struct pollfd link = {.fd = plan.link, .events = POLLIN};
    if (send(plan.link, "r", 1, MSG_NOSIGNAL) != 1)
        _exit(1);
    while (poll(&link, 1, 100) == 0)
        if (is_orphan())
            _exit(1);
    if (recv(plan.link, &byte, 1, 0) != 1)
        _exit(1);
    state_id = load(&live->last_id);
    moving = true;
}
