// ModelControlOptions say which models are loaded, and when.
//
// Thread safety: plain values.
#ifndef FERRY_SERVER_CONTROL_MODEL_CONTROL_OPTIONS_H_
#define FERRY_SERVER_CONTROL_MODEL_CONTROL_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/control/probe_load.h"

namespace ferry {

// Tritonserver's modes: what was loaded at start stays; the folder is looked at
// again from time to time; clients ask.
enum class ModelControlMode : uint8_t { kNone, kPoll, kExplicit };

struct ModelControlOptions {
  ModelControlMode mode = ModelControlMode::kNone;
  Duration poll_interval = Milliseconds(15'000);
  // Whether a model of the start that cannot be loaded ends the start, as in
  // Triton; else the others serve.
  bool exits_on_error = true;
  // At start; empty: all that the repository serves by default, none with
  // kExplicit; "*" alone: all that it has. With kPoll the only ones that are
  // looked at.
  std::vector<std::string> load_models;
  // Where set, files are loaded in a process of its own first.
  std::optional<ProbeLoadOptions> probe;

  bool wants_all() const {
    return load_models == std::vector<std::string>{"*"};
  }
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_MODEL_CONTROL_OPTIONS_H_
