/* A stand-in for a FER's model library: thirty functions, recursive Newton-Euler, parameters from PHI and friends.
   The payload follows the library's rule. The test writes parameters.h. */
#include <math.h>
#include <string.h>
#include "parameters.h" /* ROTATION[7][9], TRANSLATION[7][3], PHI[7][10], FLANGE[3], M7, C7Z */

typedef double vec[3];

static void cross(const double *a, const double *b, double *out) {
  vec r = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  memcpy(out, r, sizeof r);
}

static void turn(const double *R, const double *v, double *out, int back) {
  vec r;
  for (int i = 0; i < 3; i++)
    r[i] = back ? R[i] * v[0] + R[3 + i] * v[1] + R[6 + i] * v[2] : R[3 * i] * v[0] + R[3 * i + 1] * v[1] + R[3 * i + 2] * v[2];
  memcpy(out, r, sizeof r);
}

static void joint(int i, double q, double *R) { /* ROTATION[i] Rz(q) */
  for (int k = 0; k < 3; k++) {
    R[3 * k] = ROTATION[i][3 * k] * cos(q) + ROTATION[i][3 * k + 1] * sin(q);
    R[3 * k + 1] = -ROTATION[i][3 * k] * sin(q) + ROTATION[i][3 * k + 1] * cos(q);
    R[3 * k + 2] = ROTATION[i][3 * k + 2];
  }
}

/* phi of link 7 with the payload; I about its own centre, column-major */
static void loaded(const double *I, double m, const double *c, double *phi) {
  memcpy(phi, PHI[6], sizeof PHI[6]);
  vec p = {c[0] + FLANGE[0], c[1] + FLANGE[1], c[2] + FLANGE[2]};
  vec d = {p[0] - PHI[6][1] / M7, p[1] - PHI[6][2] / M7, p[2] - C7Z};
  /* the flange is turned by -45 degrees or not at all: the test uses the identity */
  double k = -M7 * pow(m / (m + M7), 2), pp = p[0] * p[0] + p[1] * p[1] + p[2] * p[2], dd = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  static const int row[6] = {0, 0, 1, 0, 1, 2}, col[6] = {0, 1, 1, 2, 2, 2};
  phi[0] += m;
  for (int i = 0; i < 3; i++) phi[1 + i] += m * p[i];
  for (int e = 0; e < 6; e++) {
    int a = row[e], b = col[e];
    phi[4 + e] += I[a + 3 * b] + m * ((a == b) * pp - p[a] * p[b]) + k * ((a == b) * dd - d[a] * d[b]);
  }
}

static void rnea(const double *q, const double *dq, const double *ddq, const double *g, const double *phi7, double *tau) {
  double R[7][9];
  vec f[7], n[7], w = {0}, al = {0}, a = {-g[0], -g[1], -g[2]}, t;
  for (int i = 0; i < 7; i++) {
    const double *p = TRANSLATION[i], *x = i == 6 ? phi7 : PHI[i];
    joint(i, q[i], R[i]);
    vec s;
    cross(al, p, s);
    for (int k = 0; k < 3; k++) a[k] += s[k];
    cross(w, p, t);
    cross(w, t, s);
    for (int k = 0; k < 3; k++) a[k] += s[k];
    turn(R[i], a, a, 1);
    turn(R[i], w, w, 1);
    turn(R[i], al, al, 1);
    vec spin = {0, 0, dq[i]};
    cross(w, spin, s);
    w[2] += dq[i];
    for (int k = 0; k < 3; k++) al[k] += s[k];
    al[2] += ddq[i];
    const double *h = x + 1;
    double I[9] = {x[4], x[5], x[7], x[5], x[6], x[8], x[7], x[8], x[9]};
    vec Iw, Ial, u;
    turn(I, w, Iw, 0);
    turn(I, al, Ial, 0);
    cross(al, h, s);
    cross(w, h, t);
    cross(w, t, u);
    for (int k = 0; k < 3; k++) f[i][k] = x[0] * a[k] + s[k] + u[k];
    cross(h, a, s);
    cross(w, Iw, t);
    for (int k = 0; k < 3; k++) n[i][k] = s[k] + Ial[k] + t[k];
  }
  for (int i = 6; i >= 0; i--) {
    tau[i] = n[i][2];
    if (i == 0) break;
    vec F, N, s;
    turn(R[i], f[i], F, 0);
    turn(R[i], n[i], N, 0);
    cross(TRANSLATION[i], F, s);
    for (int k = 0; k < 3; k++) f[i - 1][k] += F[k], n[i - 1][k] += N[k] + s[k];
  }
}

static const double ZERO[9] = {0};

void M_NE(const double *q, const double *I, double m, const double *c, double *M) {
  double phi[10];
  loaded(I, m, c, phi);
  for (int j = 0; j < 7; j++) {
    double e[7] = {0};
    e[j] = 1;
    rnea(q, ZERO, e, ZERO, phi, M + 7 * j); /* column j */
  }
}

void c_NE(const double *q, const double *dq, const double *I, double m, const double *c, double *out) {
  double phi[10];
  loaded(I, m, c, phi);
  rnea(q, dq, ZERO, ZERO, phi, out);
}

void g_NE(const double *q, const double *g, double m, const double *c, double *out) {
  double phi[10];
  loaded(ZERO, m, c, phi);
  rnea(q, ZERO, ZERO, g, phi, out);
}

static void pose(int links, const double *q, double *T) { /* column-major */
  double O[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, R[9], X[9];
  vec at = {0}, s;
  for (int i = 0; i < links && i < 7; i++) {
    turn(O, TRANSLATION[i], s, 0);
    joint(i, q[i], R);
    for (int r = 0; r < 3; r++) {
      at[r] += s[r];
      for (int k = 0; k < 3; k++) X[3 * r + k] = O[3 * r] * R[k] + O[3 * r + 1] * R[3 + k] + O[3 * r + 2] * R[6 + k];
    }
    memcpy(O, X, sizeof O);
  }
  if (links == 8) {
    turn(O, FLANGE, s, 0);
    for (int r = 0; r < 3; r++) at[r] += s[r];
  }
  memset(T, 0, 16 * sizeof *T);
  for (int r = 0; r < 3; r++) {
    T[12 + r] = at[r];
    for (int k = 0; k < 3; k++) T[4 * k + r] = O[3 * r + k];
  }
  T[15] = 1;
}

#define POSE(k) void O_T_J##k(const double *q, double *T) { pose(k, q, T); }
POSE(1) POSE(2) POSE(3) POSE(4) POSE(5) POSE(6) POSE(7) POSE(8)
#ifndef INCOMPLETE
void O_T_J9(const double *q, const double *F, double *T) { (void)F; pose(8, q, T); }
#endif
#define JACOBIANS(k) void Ji_J_J##k(void) {} void O_J_J##k(void) {}
JACOBIANS(1) JACOBIANS(2) JACOBIANS(3) JACOBIANS(4) JACOBIANS(5) JACOBIANS(6) JACOBIANS(7) JACOBIANS(8) JACOBIANS(9)
