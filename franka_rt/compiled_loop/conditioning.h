/* What happens to torques before they are sent: finite check, clamp, low-pass filter, rate limiter, as in
 * conditioning.py, filters.py and limits.py, with the same operations in the same order (compile without fused
 * products). Where torques cannot go alone, the zero velocity beside them takes the same way. */

#include <math.h>

#include "law.h"

static double within(double x, double limit)
{
    return x > limit ? limit : x < -limit ? -limit : x;
}

static double low_pass(double x, double last)
{
    return plan.filtering ? plan.gain * x + (1.0 - plan.gain) * last : x;
}

static double torque(int joint)
{
    const double last = real(plan.tau_last, joint);
    const double tau = low_pass(within(outputs[plan.tau + joint], plan.maximum_torque[joint]), last);
    if (!plan.limiting)
        return tau;
    return last + within((tau - last) / plan.sample_time, plan.torque_rate[joint]) * plan.sample_time;
}

/* limits.py's velocity within limits of velocity, acceleration and jerk. */
static double limited_velocity(double v, int joint)
{
    const double T = plan.sample_time, J = plan.jerk[joint], A = plan.acceleration[joint], V = plan.velocity[joint];
    const double last = real(plan.velocity_last, joint), a_last = real(plan.acceleration_last, joint);
    const double j = ((v - last) / T - a_last) / T;
    double a = a_last + within(j, J) * T;
    double highest = J / A * (V - last), lowest = J / A * (-V - last);
    highest = A < highest ? A : highest;
    lowest = lowest < -A ? -A : lowest;
    a = highest < a ? highest : a;
    return last + (a < lowest ? lowest : a) * T;
}

static double velocity(int joint)
{
    const double v = low_pass(0.0, real(plan.velocity_last, joint));
    return plan.limiting ? limited_velocity(v, joint) : v;
}

static void put(int64_t place, int index, double value)
{
    memcpy(command + place + index * (int64_t)sizeof value, &value, sizeof value);
}

/* Write the law's torques into the command; nothing that is not finite gets past here: the joint where, else -1. */
static int make_command(void)
{
    for (int joint = 0; joint < 7; joint++) {
        const double tau = torque(joint), v = plan.command_velocity < 0 ? 0.0 : velocity(joint);
        if (!isfinite(outputs[plan.tau + joint]) || !isfinite(tau) || !isfinite(v))
            return joint;
        put(plan.command_tau, joint, tau);
        if (plan.command_velocity >= 0)
            put(plan.command_velocity, joint, v);
    }
    return -1;
}
