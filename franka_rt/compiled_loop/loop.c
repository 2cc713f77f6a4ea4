/* The control loop of a kernel law, in a process of its own: what a busy interpreter does cannot cost it a cycle, and
 * when the interpreter dies or stands still the motion is ended regularly.
 *
 *     receive, law, clamp, filter, limit, send       1000 times a second
 *
 * Started by process.py with the number of the shared memory's descriptor. memory.py describes the memory, plan.py what
 * it has to do. Nothing here knows protocol versions: places, sizes and modes are data. */

#define _GNU_SOURCE
#include "setup.h"

static int64_t heartbeat, heard; /* the newest heartbeat and when it came, ns */

/* Whether Python has died or stands still, and which; REASON_NONE if all is well. */
static enum reason abandoned(void)
{
    const int64_t beat = load(&live->heartbeat), time = now();
    if (beat != heartbeat) {
        heartbeat = beat;
        heard = time;
    }
    if (is_orphan())
        return REASON_ORPHANED;
    return time - heard > plan.watchdog ? REASON_WATCHDOG : REASON_NONE;
}

/* End the motion regularly with the last command: the flag goes with it until the states show the end. */
_Noreturn static void finish(enum reason reason, int64_t patience)
{
    const int64_t deadline = now() + patience;
    command[plan.finish_flag] = 1;
    do {
        check_halt();
        send_command();
        receive_state(true);
        report->confirmed = arm_is_still();
    } while (!report->confirmed && now() < deadline);
    end(reason, 0);
}

/* One answer; `received` is when its state came. */
static void answer(double dt, int64_t received)
{
    const bool last = run_law(dt);
    const int not_finite = make_command();
    if (not_finite >= 0)
        end(REASON_NOT_FINITE, not_finite);
    if (last)
        finish(REASON_FINISHED, plan.finish_timeout);
    send_command();
    int64_t *turnarounds = region(plan.turnarounds_at);
    turnarounds[report->cycles % TURNAROUNDS] = now() - received;
    report->cycles++;
}

static void count_step(int64_t milliseconds)
{
    if (milliseconds > 1)
        report->skipped += milliseconds - 1;
    if (milliseconds > report->longest_gap)
        report->longest_gap = milliseconds;
}

static void receive_next(bool answered)
{
    receive_state(answered);
    if (!motion_is_shown())
        end(REASON_BROKEN, 0);
    check_halt();
}

_Noreturn static void run(void)
{
    double dt = 0.0;
    heard = now();
    receive_next(false);
    for (;;) {
        answer(dt, now());
        const enum reason reason = abandoned(); /* asked while the next state is not due yet */
        const int64_t before = state_id;
        receive_next(true);
        if (reason != REASON_NONE)
            finish(reason, plan.orphan_timeout);
        count_step(state_id - before);
        dt = (double)(state_id - before) / 1000.0;
    }
}

int main(int count, char **arguments)
{
    if (count != 2)
        return 1;
    prctl(PR_SET_NAME, "franka_rt_loop");
    map_memory(atoi(arguments[1]));
    handle_signals();
    allocate();
    load_kernel();
    schedule();
    wait_for_start();
    run();
}
