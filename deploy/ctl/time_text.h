// TimeText() writes a moment as answers and messages show it; the constants are
// the hours and days of windows and steps.
//
// Thread safety: a free function and constants.
#ifndef FERRY_DEPLOY_CTL_TIME_TEXT_H_
#define FERRY_DEPLOY_CTL_TIME_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace ferry::ctl {

inline constexpr int64_t kHourS = 3600;
inline constexpr int64_t kDayS = 24 * kHourS;

// Returns "2026-01-31T12:00:00Z".
inline std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

// The same of seconds since the epoch.
inline std::string TimeText(int64_t seconds) {
  return TimeText(absl::FromUnixSeconds(seconds));
}

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_TIME_TEXT_H_
