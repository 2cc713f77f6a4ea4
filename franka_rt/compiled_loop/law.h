/* One cycle of the law: the state's numbers in, parameters in, the kernel, its memory back. As kernel_law.py does it. */

#include "robot.h"

typedef void kernel_function(void *const *buffers);

static kernel_function *kernel;
static void **leaves; /* addresses of the kernel's inputs, then of its outputs */
static double *inputs, *outputs;
static char *staging; /* a set of parameters while it is not known to be whole */

enum load_place { M_EE, C_EE, I_EE, M_LOAD, C_LOAD, I_LOAD };

/* End effector and load as one body, with the operations of combined_load.py. */
static double total_mass(void)
{
    const double ee = real(plan.load[M_EE], 0), load = real(plan.load[M_LOAD], 0);
    return plan.single_precision ? (double)((float)ee + (float)load) : ee + load;
}

static void total_centre(double *centre)
{
    const double ee = real(plan.load[M_EE], 0), load = real(plan.load[M_LOAD], 0);
    for (int i = 0; i < 3; i++) {
        const double moment = ee * real(plan.load[C_EE], i) + load * real(plan.load[C_LOAD], i);
        centre[i] = ee + load > 0.0 ? moment / (ee + load) : 0.0;
    }
}

static double cross_squared(const double *c, int row, int column)
{
    const double square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
    return c[row] * c[column] - (row == column ? square : 0.0);
}

static double about_flange(enum load_place mass, enum load_place centre, enum load_place inertia, int row, int column)
{
    const double m = real(plan.load[mass], 0);
    const double c[3] = {real(plan.load[centre], 0), real(plan.load[centre], 1), real(plan.load[centre], 2)};
    return m != 0.0 ? real(plan.load[inertia], 3 * column + row) - m * cross_squared(c, row, column) : 0.0;
}

static void total_inertia(double *inertia)
{
    double centre[3];
    const double mass = total_mass();
    total_centre(centre);
    for (int i = 0; i < 9; i++) {
        const double ee = about_flange(M_EE, C_EE, I_EE, i / 3, i % 3);
        const double load = about_flange(M_LOAD, C_LOAD, I_LOAD, i / 3, i % 3);
        inertia[i] = mass != 0.0 ? ee + load + mass * cross_squared(centre, i / 3, i % 3) : 0.0;
    }
}

static void fill(const struct field *field)
{
    double *target = inputs + field->target;
    const int64_t n = field->size;
    switch ((enum source)field->source) {
    case SOURCE_REALS:
        for (int64_t i = 0; i < n; i++)
            target[i] = real(field->place, i);
        break;
    case SOURCE_MATRIX: /* column-major on the wire, C order in a kernel */
        for (int64_t i = 0; i < n * n; i++)
            target[i] = real(field->place, i % n * n + i / n);
        break;
    case SOURCE_TIME:
        *target = (double)state_id / 1000.0;
        break;
    case SOURCE_TOTAL_MASS:
        *target = total_mass();
        break;
    case SOURCE_TOTAL_CENTRE:
        total_centre(target);
        break;
    case SOURCE_TOTAL_INERTIA:
        total_inertia(target);
        break;
    }
}

static void apply_set(int64_t number)
{
    const struct span *span = region(plan.spans_at);
    const double *words = (const double *)(staging + sizeof(struct set_head));
    const int64_t newest = ((const struct set_head *)staging)->memory_set;
    for (int64_t i = 0; i < plan.span_count; i++)
        if (!span[i].memory || newest != report->memory_taken)
            memcpy(inputs + span[i].first, words + span[i].first, span[i].words * sizeof *words);
    report->memory_taken = newest;
    report->sets_taken = number;
}

/* The newest set of parameters, if there is a new one. One that may have been overwritten while it was copied is not
 * used: there is a newer one then, and the next cycle takes it. */
static void take_parameters(void)
{
    const int64_t newest = load(&live->sets);
    if (newest == report->sets_taken)
        return;
    const size_t size = sizeof(struct set_head) + plan.input_words * sizeof(double);
    memcpy(staging, (char *)region(plan.sets_at) + newest % SETS * size, size);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (load(&live->sets) - newest < SETS - 1)
        apply_set(newest);
}

/* The results for the newest state; memory stays. */
static void compute(void)
{
    const struct field *field = region(plan.fields_at);
    for (int64_t i = 0; i < plan.field_count; i++)
        fill(field + i);
    kernel(leaves);
}

static void remember(void)
{
    const struct memory *memory = region(plan.memory_at);
    for (int64_t i = 0; i < plan.memory_count; i++)
        memcpy(inputs + memory[i].input, outputs + memory[i].output, memory[i].words * sizeof *inputs);
}

static void set_dt(double dt)
{
    if (plan.dt >= 0)
        inputs[plan.dt] = dt;
}

static bool law_has_finished(void)
{
    if (plan.finished < 0)
        return false;
    if (plan.finished_is_real)
        return outputs[plan.finished] != 0.0;
    return ((const int64_t *)outputs)[plan.finished] != 0;
}

static bool asked_to_finish(void)
{
    return load(&live->finish) && __atomic_exchange_n(&live->finish, 0, __ATOMIC_ACQ_REL);
}

/* Run the law on the newest state; whether this is its last cycle. */
static bool run_law(double dt)
{
    take_parameters();
    set_dt(dt);
    compute();
    remember();
    const bool asked = asked_to_finish();
    return law_has_finished() || asked;
}
