// StudentTwoSided() and StudentQuantile() compute Student's t distribution, for
// any degrees of freedom above 0.
//
// From the regularized incomplete beta function by its continued fraction:
// NIST Digital Library of Mathematical Functions, 8.17.22; t by 8.17 and A. M.
// Law, Simulation Modeling and Analysis, chapter 4. Within 1e-10 of the tables.
//
// Thread safety: free functions.
#ifndef FERRY_BENCH_COMPARE_STUDENT_T_H_
#define FERRY_BENCH_COMPARE_STUDENT_T_H_

namespace ferry::bench {

// Returns the chance that |T| exceeds |t|. REQUIRES: degrees > 0.
double StudentTwoSided(double t, double degrees);

// Returns the t that |T| exceeds with that chance. REQUIRES: 0 < chance < 1,
// degrees > 0.
double StudentQuantile(double chance, double degrees);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMPARE_STUDENT_T_H_
