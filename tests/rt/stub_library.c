/* A stand-in for the model library that a FER serves: the thirty functions over a plain world-frame Newton-Euler
   recursion, written apart from the project's own algorithms. parameters.h holds the arm: ORIGIN_R (7x9, row-major)
   and ORIGIN_P (7x3) of the joints, MASS (7), CENTRE (7x3), INERTIA (7x9), FLANGE_Z, and M7, C7Z of the payload rule. */
#include <math.h>
#include <string.h>
#include "parameters.h"

typedef struct { double R[7][9], p[7][3]; } Chain;

static void mul(const double A[9], const double B[9], double C[9]) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            C[3 * r + c] = 0;
            for (int k = 0; k < 3; k++) C[3 * r + c] += A[3 * r + k] * B[3 * k + c];
        }
}
static void rotate(const double R[9], const double v[3], double out[3]) {
    for (int r = 0; r < 3; r++) out[r] = R[3 * r] * v[0] + R[3 * r + 1] * v[1] + R[3 * r + 2] * v[2];
}
static void cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}
static void add_cross(const double a[3], const double b[3], double out[3]) {
    double t[3];
    cross(a, b, t);
    for (int k = 0; k < 3; k++) out[k] += t[k];
}
static void axis(const Chain *c, int i, double z[3]) { for (int k = 0; k < 3; k++) z[k] = c->R[i][3 * k + 2]; }

static Chain forward(const double *q) {
    Chain chain;
    double R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, p[3] = {0}, step[3], fixed[9];
    for (int i = 0; i < 7; i++) {
        const double c = cos(q[i]), s = sin(q[i]), turn[9] = {c, -s, 0, s, c, 0, 0, 0, 1};
        rotate(R, ORIGIN_P + 3 * i, step);
        for (int k = 0; k < 3; k++) p[k] += step[k];
        mul(R, ORIGIN_R + 9 * i, fixed);
        mul(fixed, turn, R);
        memcpy(chain.R[i], R, sizeof R);
        memcpy(chain.p[i], p, sizeof p);
    }
    return chain;
}

/* frame 0..6 joints, 7 flange, 8 end effector; X column-major relative to the flange */
static void frame_of(const Chain *c, int frame, const double *X, double R[9], double p[3]) {
    const int i = frame < 7 ? frame : 6;
    memcpy(R, c->R[i], 72);
    memcpy(p, c->p[i], 24);
    if (frame < 7) return;
    const double flange[3] = {0, 0, FLANGE_Z};
    double step[3], local[9];
    rotate(R, flange, step);
    for (int k = 0; k < 3; k++) p[k] += step[k];
    if (frame < 8) return;
    rotate(R, X + 12, step);
    for (int k = 0; k < 3; k++) p[k] += step[k];
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) local[3 * r + k] = X[4 * k + r];
    double turned[9];
    mul(R, local, turned);
    memcpy(R, turned, 72);
}

static void pose(const double *q, int frame, const double *X, double *out) {
    Chain c = forward(q);
    double R[9], p[3];
    frame_of(&c, frame, X, R, p);
    for (int k = 0; k < 4; k++)
        for (int r = 0; r < 4; r++) out[4 * k + r] = r == 3 ? k == 3 : k == 3 ? p[r] : R[3 * r + k];
}

static void jacobian(const double *q, int frame, const double *X, int body, double *out) {
    Chain c = forward(q);
    double R[9], p[3], z[3], arm[3], v[3];
    frame_of(&c, frame, X, R, p);
    memset(out, 0, 42 * sizeof(double));
    for (int j = 0; j < 7 && j <= frame; j++) {
        axis(&c, j, z);
        for (int k = 0; k < 3; k++) arm[k] = p[k] - c.p[j][k];
        cross(z, arm, v);
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 3; k++) {
                const double w = body ? R[3 * k + r] : r == k;
                out[6 * j + r] += w * v[k];
                out[6 * j + 3 + r] += w * z[k];
            }
    }
}

static void tau(const double *q, const double *dq, const double *ddq, const double *g, double m, const double *com,
                const double *I, double *out) {
    Chain c = forward(q);
    double w[7][3], al[7][3], a[7][3], z[3], r[3], t[3], F[8][3], N[8][3], at[8][3];
    for (int i = 0; i < 7; i++) {
        double zero[3] = {0}, base[3] = {-g[0], -g[1], -g[2]};
        const double *w0 = i ? w[i - 1] : zero, *al0 = i ? al[i - 1] : zero, *p0 = i ? c.p[i - 1] : zero;
        axis(&c, i, z);
        for (int k = 0; k < 3; k++) {
            r[k] = c.p[i][k] - p0[k];
            a[i][k] = i ? a[i - 1][k] : base[k];
            w[i][k] = w0[k] + z[k] * dq[i];
            al[i][k] = al0[k] + z[k] * ddq[i];
            t[k] = z[k] * dq[i];
        }
        add_cross(w0, t, al[i]);
        add_cross(al0, r, a[i]);
        cross(w0, r, t);
        add_cross(w0, t, a[i]);
    }
    double payload[3] = {com[0], com[1], com[2] + FLANGE_Z}, tensor[9], d[3], square = 0;
    const double own[3] = {MASS[6] * CENTRE[18] / M7, MASS[6] * CENTRE[19] / M7, C7Z};
    for (int k = 0; k < 3; k++) square += (d[k] = payload[k] - own[k]) * d[k];
    const double factor = -M7 * pow(m / (m + M7), 2);
    for (int x = 0; x < 3; x++)
        for (int y = 0; y < 3; y++) tensor[3 * x + y] = I[3 * y + x] + factor * ((x == y) * square - d[x] * d[y]);
    for (int b = 0; b < 8; b++) {
        const int i = b < 7 ? b : 6;
        const double mass = b < 7 ? MASS[b] : m, *centre = b < 7 ? CENTRE + 3 * b : payload;
        const double *local = b < 7 ? INERTIA + 9 * b : tensor;
        double acc[3], RI[9], world[9], Rt[9], L[3];
        rotate(c.R[i], centre, r);
        memcpy(acc, a[i], 24);
        add_cross(al[i], r, acc);
        cross(w[i], r, t);
        add_cross(w[i], t, acc);
        for (int x = 0; x < 3; x++)
            for (int y = 0; y < 3; y++) Rt[3 * x + y] = c.R[i][3 * y + x];
        mul(c.R[i], local, RI);
        mul(RI, Rt, world);
        rotate(world, al[i], N[b]);
        rotate(world, w[i], L);
        add_cross(w[i], L, N[b]);
        for (int k = 0; k < 3; k++) { F[b][k] = mass * acc[k]; at[b][k] = c.p[i][k] + r[k]; }
    }
    for (int j = 0; j < 7; j++) {
        double moment[3] = {0};
        axis(&c, j, z);
        for (int b = j; b < 8; b++) {
            for (int k = 0; k < 3; k++) { r[k] = at[b][k] - c.p[j][k]; moment[k] += N[b][k]; }
            add_cross(r, F[b], moment);
        }
        out[j] = z[0] * moment[0] + z[1] * moment[1] + z[2] * moment[2];
    }
}

#define API __attribute__((visibility("default"))) void
static const double ZERO[9] = {0};

#define JOINT(n) \
    API O_T_J##n(const double *q, double *out) { pose(q, n - 1, 0, out); }
#define MOVING(n) \
    JOINT(n) \
    API Ji_J_J##n(const double *q, double *out) { jacobian(q, n - 1, 0, 1, out); } \
    API O_J_J##n(const double *q, double *out) { jacobian(q, n - 1, 0, 0, out); }
JOINT(1)
API Ji_J_J1(double *out) { jacobian(ZERO, 0, 0, 1, out); }
API O_J_J1(double *out) { jacobian(ZERO, 0, 0, 0, out); }
MOVING(2) MOVING(3) MOVING(4) MOVING(5) MOVING(6) MOVING(7) MOVING(8)
API O_T_J9(const double *q, const double *X, double *out) { pose(q, 8, X, out); }
API Ji_J_J9(const double *q, const double *X, double *out) { jacobian(q, 8, X, 1, out); }
API O_J_J9(const double *q, const double *X, double *out) { jacobian(q, 8, X, 0, out); }

API M_NE(const double *q, const double *I, double m, const double *c, double *out) {
    for (int j = 0; j < 7; j++) {
        double unit[7] = {0};
        unit[j] = 1;
        tau(q, ZERO, unit, ZERO, m, c, I, out + 7 * j);
    }
}
API c_NE(const double *q, const double *dq, const double *I, double m, const double *c, double *out) {
    tau(q, dq, ZERO, ZERO, m, c, I, out);
}
#ifndef WITHOUT_GRAVITY
API g_NE(const double *q, const double *g, double m, const double *c, double *out) {
    tau(q, ZERO, ZERO, g, m, c, ZERO, out);
}
#endif
