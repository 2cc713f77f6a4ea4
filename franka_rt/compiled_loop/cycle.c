/* Parts of a cycle for the Python loop, each in one call: what kernel_law.py, conditioning.py and commands.py do, by the
 * same code as in the program (loop.c). Python receives, calls callbacks that are its own, and sends.
 *
 * The headers keep the loop they work for in variables of their own, so every call puts its own there first. Calls keep
 * the interpreter's lock and cannot meet. */

#define _GNU_SOURCE
#include "conditioning.h"

struct cycle {
    char *memory; /* a plan, with the regions of the law's fields and memory */
    kernel_function *kernel;
    void **leaves;
    double *inputs, *outputs; /* the torques are among the outputs, where the plan says */
    unsigned char *command;   /* what comes of it */
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

/* Write the command that answers a state, from the torques. -1: some number is not finite, and it must not be sent. */
static int64_t answer(void)
{
    address_command();
    return make_command() >= 0 ? -1 : 0;
}

__attribute__((visibility("default"))) int64_t answer_state(const struct cycle *cycle, unsigned char *datagram)
{
    take_up(cycle, datagram);
    return answer();
}

/* Run the law on a state, then as above; 1: the law has ended the motion. A state is only read. */
__attribute__((visibility("default"))) int64_t run_law_on(const struct cycle *cycle, unsigned char *datagram, double dt)
{
    take_up(cycle, datagram);
    set_dt(dt);
    compute();
    remember();
    return answer() < 0 ? -1 : law_has_finished();
}

/* The same without effect: the next cycle overwrites the command. */
__attribute__((visibility("default"))) void rehearse_law_on(const struct cycle *cycle, unsigned char *datagram)
{
    take_up(cycle, datagram);
    compute();
    answer();
}
