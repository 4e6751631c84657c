// ScriptedModel: a ServedModel whose batcher and backend the test moves.
//
// Thread safety: one thread, that of the test.
#ifndef FERRY_TESTS_SERVER_SCRIPTED_MODEL_H_
#define FERRY_TESTS_SERVER_SCRIPTED_MODEL_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "models/served_model.h"
#include "tests/support/fake_clock.h"
#include "tests/support/scripted_backend.h"
#include "tests/support/test_request.h"

namespace ferry {

class ScriptedModel {
 public:
  // Echoes 'x' INT64 [1] as 'y'. The backend's spec and clock are this one's.
  explicit ScriptedModel(const std::string& name, int64_t version = 1,
                         BatcherOptions options = {},
                         ScriptedBackendOptions backend_options = {}) {
    model_.name = name;
    model_.version = version;
    model_.platform = "ferry_echo";
    model_.spec = RowSpec();
    model_.spec.max_batch_size = options.max_batch_size;
    model_.config.set_name(name);
    backend_options.spec = model_.spec;
    backend_options.clock = &clock_;
    auto backend = std::make_unique<ScriptedBackend>(backend_options);
    backend_ = backend.get();
    options.clock = &clock_;
    options.stepping = Stepping::kByCaller;
    auto batcher = Batcher::Create(std::move(backend), options);
    EXPECT_TRUE(batcher.ok()) << batcher.status();
    model_.batcher = *std::move(batcher);
  }

  const ServedModel& model() const { return model_; }
  Batcher& batcher() { return *model_.batcher; }
  ScriptedBackend& backend() { return *backend_; }
  FakeClock& clock() { return clock_; }

 private:
  FakeClock clock_;
  ScriptedBackend* backend_ = nullptr;
  ServedModel model_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_SERVER_SCRIPTED_MODEL_H_
