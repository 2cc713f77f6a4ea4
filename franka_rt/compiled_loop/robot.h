/* States in, commands out: the same rules as session.py and motion.py. */

#include <poll.h>

#include "shared.h"

#define STATE_PERIOD INT64_C(1000000) /* ns */

static unsigned char *incoming; /* one byte longer than a state, so that a longer datagram is noticed */
static unsigned char *state;    /* the newest accepted one, in its record of the log */
static unsigned char *command;
static int64_t state_id;
static int64_t arrived; /* when the newest state came, ns */

static void check_halt(void)
{
    if (load(&live->halt))
        end(REASON_HALTED, 0);
}

static char *record(int64_t number)
{
    return (char *)region(plan.log_at) + number % plan.log_size * plan.record_size;
}

/* Take one datagram; false if there was none. One that is not newer than the last accepted one does not count. */
static bool take_datagram(int flags, bool *accepted)
{
    const ssize_t size = recv(plan.udp, incoming, plan.state_size + 1, flags);
    if (size < 0) {
        if (errno == EINTR) { /* Python's way to interrupt a wait for a state that does not come */
            check_halt();
            return true;
        }
        if (errno == EAGAIN && (flags & MSG_DONTWAIT))
            return false;
        end(REASON_RECEIVE_FAILED, errno);
    }
    if (size != plan.state_size)
        end(REASON_WRONG_SIZE, size);
    int64_t id;
    memcpy(&id, incoming + plan.state_id, sizeof id);
    if (id > state_id) {
        state = (unsigned char *)record(report->records) + plan.record_state;
        memcpy(state, incoming, plan.state_size);
        state_id = id;
        *accepted = true;
    }
    return true;
}

/* The state enters the log with the command that was sent before it; from here on Python may read it. */
static void log_state(bool answered)
{
    char *entry = record(report->records);
    ((struct record_head *)entry)->answered = answered;
    memcpy(entry + sizeof(struct record_head), command, plan.command_size);
    store(&report->records, report->records + 1);
}

static void compute(void);

/* Wake up shortly before the next state is due, run the law for its traces in the caches, and then look for the state
 * instead of sleeping on it: anticipation.py, which says why. Whatever else happens is left to the ordinary wait. */
static void anticipate(bool *accepted)
{
    const int64_t due = arrived + STATE_PERIOD, rest = due - plan.lead - now();
    if (plan.lead <= 0 || rest <= 0)
        return;
    struct pollfd datagram = {.fd = plan.udp, .events = POLLIN};
    const struct timespec sleep = {.tv_nsec = rest};
    if (ppoll(&datagram, 1, &sleep, NULL) != 0) {
        check_halt();
        return;
    }
    compute(); /* without effect: the next cycle overwrites the results */
    while (!*accepted && now() < due + plan.lead)
        take_datagram(MSG_DONTWAIT, accepted);
}

/* The newest queued state that is newer than the last accepted one, else the next that comes. */
static void receive_state(bool answered)
{
    bool accepted = false;
    int64_t deadline = 0;
    while (take_datagram(MSG_DONTWAIT, &accepted))
        continue;
    if (!accepted)
        anticipate(&accepted);
    while (!accepted) {
        take_datagram(0, &accepted); /* the socket's own timeout bounds the wait */
        if (!accepted && deadline && now() > deadline)
            end(REASON_CLOCK_STANDS, 0);
        if (!deadline)
            deadline = now() + plan.udp_timeout;
    }
    arrived = now();
    log_state(answered);
}

static void address_command(void)
{
    memcpy(command + plan.command_id, &state_id, sizeof state_id);
}

static void send_command(void)
{
    address_command();
    const ssize_t sent = send(plan.udp, command, plan.command_size, MSG_NOSIGNAL);
    if (sent != plan.command_size)
        end(REASON_SEND_FAILED, sent < 0 ? errno : 0);
}

static bool motion_is_shown(void)
{
    return state[plan.generator] == plan.running[0] && state[plan.controller] == plan.running[1] &&
           state[plan.robot_mode] == plan.running[2];
}

static bool arm_is_still(void)
{
    const unsigned generator = state[plan.generator];
    const bool still = generator < 64 && (plan.still_generators >> generator & 1);
    return still && state[plan.controller] != plan.external_controller;
}

/* A number of the state, or of a row of them, widened as Python widens it. */
static double real(int64_t place, int64_t index)
{
    if (plan.single_precision) {
        float narrow;
        memcpy(&narrow, state + place + index * (int64_t)sizeof narrow, sizeof narrow);
        return narrow;
    }
    double wide;
    memcpy(&wide, state + place + index * (int64_t)sizeof wide, sizeof wide);
    return wide;
}
