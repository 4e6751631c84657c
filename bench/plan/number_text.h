// NumberText() and its like write the numbers of formulas for people.
//
// Thread safety: free functions over values.
#ifndef FERRY_BENCH_PLAN_NUMBER_TEXT_H_
#define FERRY_BENCH_PLAN_NUMBER_TEXT_H_

#include <string>
#include <vector>

#include "bench/plan/formulas.h"

namespace ferry::plan {

// Returns whole numbers whole, others with the figures that matter: "3",
// "1234.5", "1.234", "0.01234".
std::string NumberText(double value);

// Returns money as bills have it: "17,625.60".
std::string MoneyText(double value);

// Returns the formula's unit, with that currency in it: "USD/h".
std::string UnitText(const Formula& formula, const std::string& currency);

// Returns two lines for each number: its formula, and where that comes from.
std::string FormulaText(const std::vector<Number>& numbers);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_NUMBER_TEXT_H_
