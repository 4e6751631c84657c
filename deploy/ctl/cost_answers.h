// CommitmentAnswer() and its like say what devices cost, by the formulas of
// bench/plan/formulas.h and the prices of a file.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found;
// NOT_FOUND for a price that the file does not have.
#ifndef FERRY_DEPLOY_CTL_COST_ANSWERS_H_
#define FERRY_DEPLOY_CTL_COST_ANSWERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/plan/cost.h"
#include "bench/plan/price_file.h"
#include "bench/plan/recording.h"
#include "deploy/ctl/answer.h"

namespace ferry::ctl {

// Which row of the prices, and how many instances of it.
struct PriceChoice {
  std::string device;
  std::optional<std::string> provider = std::nullopt;
  std::optional<std::string> region = std::nullopt;
  std::optional<double> term_hours = std::nullopt;
  int64_t instances = 1;
};

// Rows of a price file, each with what it is called among an answer's inputs.
using NamedPrices = std::vector<std::pair<std::string, plan::PriceRow>>;

// Has the answer name its currency, prices and their overheads, and warn of
// old prices.
void NamePrices(const plan::DatedPrices& prices, const NamedPrices& rows,
                Answer& answer);

// What a commitment is compared for.
struct Commitment {
  PriceChoice choice;
  double used_share = 1;  // of the term, (0, 1]
};

// Compares the reserved row of a device with its on-demand row: what is saved
// where it is used for that share of the term.
absl::StatusOr<Answer> ReservedAnswer(const plan::DatedPrices& prices,
                                      const Commitment& commitment);

// Says from what share of the term on the reserved row is cheaper.
absl::StatusOr<Answer> BreakEvenAnswer(const plan::DatedPrices& prices,
                                       const Commitment& commitment);

// What a provider may take back at short notice.
struct Interruption {
  double redone_share = 0;        // of the work, [0, 1)
  bool is_interruptible = false;  // whether the work may be interrupted
};

// Compares the spot row of a device with its on-demand row. Work that may not
// be interrupted is refused.
absl::StatusOr<Answer> SpotAnswer(const plan::DatedPrices& prices,
                                  const PriceChoice& choice,
                                  const Interruption& interruption);

// Says what is saved where devices are off outside some hours of the week.
absl::StatusOr<Answer> ScheduleAnswer(const plan::DatedPrices& prices,
                                      const PriceChoice& choice,
                                      double on_hours_per_week);

// The same where a recording has the hours: those without a request are off.
// `source`: of the recording, for people. Errors: FAILED_PRECONDITION where no
// hour has a request.
absl::StatusOr<Answer> RecordedScheduleAnswer(const plan::DatedPrices& prices,
                                              const PriceChoice& choice,
                                              const plan::HourCounts& hours,
                                              const std::string& source);

// Says how many devices do the work within its windows, and, with prices, what
// they cost.
absl::StatusOr<Answer> OfflineAnswer(
    const plan::OfflineWork& work,
    const std::optional<plan::DatedPrices>& prices, const PriceChoice& choice);

// What is served by `choice.instances` instances.
struct ServedRate {
  double average_rate = 0;  // requests/s of all
  // requests/s of one device within its SLO, as measured; nothing: not known.
  std::optional<double> lambda_max = std::nullopt;
};

// Says what a million requests cost at their average rate.
absl::StatusOr<Answer> PerMillionAnswer(const plan::DatedPrices& prices,
                                        const PriceChoice& choice,
                                        plan::PriceKind kind,
                                        const ServedRate& served);

// Ranks the rows of the devices by what a million requests cost at their full
// measured rate. `rates`: requests/s of one device, by its name.
absl::StatusOr<Answer> RankAnswer(const plan::DatedPrices& prices,
                                  const std::map<std::string, double>& rates);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_COST_ANSWERS_H_
