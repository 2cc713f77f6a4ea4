/* The real-time half of the benchmark's robot: one state per millisecond, and when the commands for it arrived.

   The Python half (loop_server.py) speaks TCP and calls `stream`, which returns when TCP has something to read, a motion
   was ended by its last command, or the cycles are used up. Turnaround is measured at the server's socket: from the
   clock's reading before sendto() to the time at which the kernel put the command into the socket's queue
   (SO_TIMESTAMPNS). The server is awake when a state is due and while it waits for the command, so that neither its own
   waking up nor the client's waking it counts; in the rest of the millisecond it sleeps. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define PERIOD 1000000L     /* ns */
#define AWAKE 60000L        /* ns before a state is due from which the server no longer sleeps */
#define PATIENT 250000L     /* ns after a state during which it does not sleep until the command is there */
#define LATE 500000L        /* ns; a server that woke up later than this starts counting anew, without a burst */

enum { TCP = 1, FINISHED = 2, FULL = 3 };

static int64_t now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000L + t.tv_nsec;
}

/* One datagram into `command`; its size, or -1 if none is queued. `arrived`: ns of the realtime clock. */
static ssize_t take(int udp, void *command, size_t size, int64_t *arrived) {
    char control[128];
    struct iovec part = {command, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t got = recvmsg(udp, &message, MSG_DONTWAIT);
    if (got < 0) return -1;
    *arrived = now(CLOCK_REALTIME);
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec t;
            memcpy(&t, CMSG_DATA(c), sizeof t);
            *arrived = (int64_t)t.tv_sec * 1000000000L + t.tv_nsec;
        }
    return got;
}

/* Sends state `count` + `first` and the following ones until something happens; which, see above.

   state, size        datagram, its message id (8 bytes) counts up
   client, length     where to
   command, bytes     room for a command datagram and its size; the newest one stays in it
   flag               offset of the byte in a command that ends the motion
   count, capacity    cycles so far, and how many there may be
   sent, turnaround   per cycle: realtime clock at sending; ns until its command was here, -1 if none came
   tick               per cycle: ns by which it was sent late */
__attribute__((visibility("default"))) int stream(int udp, int tcp, uint8_t *state, int64_t size, const void *client, int64_t length, uint8_t *command,
           int64_t bytes, int64_t flag, int64_t first, int64_t *count, int64_t capacity, int64_t *sent,
           int64_t *turnaround, int64_t *tick, int64_t *deadline) {
    struct pollfd both[2] = {{udp, POLLIN, 0}, {tcp, POLLIN, 0}};
    int64_t answered = 1;
    while (1) {
        int64_t left = *deadline - now(CLOCK_MONOTONIC);
        if (left <= 0) {
            if (*count == capacity) return FULL;
            int64_t id = first + *count;
            memcpy(state, &id, 8);
            tick[*count] = -left;
            turnaround[*count] = -1;
            sent[*count] = now(CLOCK_REALTIME);
            *count += 1;
            sendto(udp, state, size, MSG_DONTWAIT, client, length);
            *deadline = -left > LATE ? now(CLOCK_MONOTONIC) + PERIOD : *deadline + PERIOD;
            answered = 0;
            continue;
        }
        if (left > AWAKE && (answered || left < PERIOD - PATIENT)) {
            struct timespec wait = {0, left - AWAKE};
            ppoll(both, 2, &wait, 0);
            if (both[1].revents) return TCP;
        }
        int64_t arrived, id;
        ssize_t got;
        while ((got = take(udp, command, bytes, &arrived)) >= 0) {
            if (got != bytes) continue;
            memcpy(&id, command, 8);
            int64_t cycle = id - first;
            if (cycle < 0 || cycle >= *count || turnaround[cycle] >= 0) continue;
            turnaround[cycle] = arrived - sent[cycle];
            answered |= cycle == *count - 1;
            if (command[flag]) return FINISHED;
        }
    }
}
