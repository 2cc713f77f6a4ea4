/* One cycle of a kernel law for the Python loop, in one call: what kernel_law.py and conditioning.py do, by the same code
 * as in the program (loop.c). Python receives and sends.
 *
 * The headers keep the loop they work for in variables of their own, so every call puts its own there first. Calls keep
 * the interpreter's lock and cannot meet. */

#define _GNU_SOURCE
#include "conditioning.h"

struct cycle {
    char *memory; /* a plan, with the regions of the law's fields and memory */
    kernel_function *kernel;
    void **leaves;
    double *inputs, *outputs;
    unsigned char *command; /* what comes of it */
};

static void take_up(const struct cycle *cycle, unsigned char *datagram)
{
    shared = cycle->memory;
    memcpy(&plan, shared, sizeof plan);
    kernel = cycle->kernel;
    leaves = cycle->leaves;
    inputs = cycle->inputs;
    outputs = cycle->outputs;
    command = cycle->command;
    state = datagram;
    memcpy(&state_id, state + plan.state_id, sizeof state_id);
}

/* Run the law on a state and write the command that answers it. A state is only read. 0: go on; 1: the law has ended the
 * motion; -1: some number is not finite, and the command must not be sent. */
__attribute__((visibility("default"))) int64_t run_cycle(const struct cycle *cycle, unsigned char *datagram, double dt)
{
    take_up(cycle, datagram);
    set_dt(dt);
    compute();
    remember();
    address_command();
    return make_command() >= 0 ? -1 : law_has_finished();
}

/* The same without effect: the next cycle overwrites the command. */
__attribute__((visibility("default"))) void rehearse_cycle(const struct cycle *cycle, unsigned char *datagram)
{
    take_up(cycle, datagram);
    compute();
    make_command();
}
