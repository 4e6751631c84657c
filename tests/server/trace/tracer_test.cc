// Tests which requests are kept, for which sink, and what is lost where one
// does not take them.
#include "server/trace/tracer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/mutex.h"

namespace ferry {
namespace {

constexpr char kSampled[] =
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr char kNotSampled[] =
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

// What sinks were given; it outlives them.
struct Given {
  bool Has(const std::string& text) {
    MutexLock lock(mutex);
    return absl::StrContains(all, text);
  }
  size_t Count(const std::string& text) {
    MutexLock lock(mutex);
    const std::vector<std::string> between = absl::StrSplit(all, text);
    return between.size() - 1;
  }
  bool IsEmpty() {
    MutexLock lock(mutex);
    return all.empty();
  }

  Mutex mutex;
  CondVar opened;
  std::string all ABSL_GUARDED_BY(mutex);
  bool takes ABSL_GUARDED_BY(mutex) = true;
  bool hangs ABSL_GUARDED_BY(mutex) = false;
};

class GivenSink final : public TraceSink {
 public:
  explicit GivenSink(std::shared_ptr<Given> given) : given_(std::move(given)) {}
  bool Write(absl::string_view text) override {
    MutexLock lock(given_->mutex);
    while (given_->hangs) {
      given_->opened.Wait(given_->mutex);
    }
    absl::StrAppend(&given_->all, text);
    return given_->takes;
  }

 private:
  const std::shared_ptr<Given> given_;
};

struct Scene {
  enum Which { kFile = 1, kCollector = 2, kLog = 4 };

  explicit Scene(int sinks, TraceShares shares = {}) {
    TraceSinks made;
    if ((sinks & kFile) != 0) {
      made.file = std::make_unique<GivenSink>(file);
    }
    if ((sinks & kCollector) != 0) {
      made.collector = std::make_unique<GivenSink>(collector);
    }
    if ((sinks & kLog) != 0) {
      made.access_log = std::make_unique<GivenSink>(log);
    }
    tracer = std::make_unique<Tracer>(shares, std::move(made),
                                      TraceWriter::kNoPeriod);
  }

  // Ends a request of that name, after that time.
  void Play(const std::string& name, const char* traceparent = "",
            absl::StatusCode code = absl::StatusCode::kOk,
            Duration took = Duration(0)) {
    Tracer::Begun begun =
        tracer->Begin(traceparent, *traceparent == '\0' ? 0 : 1);
    begun.arrival -= took;
    tracer->End(begun, code, [&](RequestTrace& trace) {
      trace.model = "m";
      trace.version = "1";
      trace.request_id = name;
    });
  }

  void Flush(TimePoint until = kNever) { tracer->Flush(until); }

  const std::shared_ptr<Given> file = std::make_shared<Given>();
  const std::shared_ptr<Given> collector = std::make_shared<Given>();
  const std::shared_ptr<Given> log = std::make_shared<Given>();
  std::unique_ptr<Tracer> tracer;
};

TEST(Tracer, CollectorGetsWhatIsSampledOnly) {
  Scene scene(Scene::kFile | Scene::kCollector);
  scene.Play("sampled", kSampled);
  scene.Play("not sampled", kNotSampled);
  scene.Play("failed", "", absl::StatusCode::kInternal);
  scene.Play("slow", "", absl::StatusCode::kOk, Milliseconds(500));
  scene.Flush();
  EXPECT_TRUE(scene.collector->Has("\"sampled\""));
  EXPECT_FALSE(scene.collector->Has("not sampled"));
  EXPECT_FALSE(scene.collector->Has("failed"));
  EXPECT_FALSE(scene.collector->Has("slow"));
  for (const char* name : {"\"sampled\"", "failed", "slow"}) {
    EXPECT_TRUE(scene.file->Has(name)) << name;
  }
  EXPECT_FALSE(scene.file->Has("not sampled"));
}

TEST(Tracer, RequestsWithoutAContextAreDrawn) {
  Scene all(Scene::kCollector, {.spans = 1});
  all.Play("drawn");
  all.Play("not sampled", kNotSampled);
  all.Flush();
  EXPECT_TRUE(all.collector->Has("drawn"));
  EXPECT_FALSE(all.collector->Has("not sampled"));
}

TEST(Tracer, FileHasTheSlowestBetweenTwoFlushes) {
  Scene scene(Scene::kFile);
  scene.Play("first", "", absl::StatusCode::kOk, Milliseconds(400));
  scene.Play("slowest", "", absl::StatusCode::kOk, Milliseconds(500));
  scene.Play("later", "", absl::StatusCode::kOk, Milliseconds(450));
  scene.Flush();
  EXPECT_FALSE(scene.file->Has("first"));
  EXPECT_TRUE(scene.file->Has("slowest"));
  EXPECT_FALSE(scene.file->Has("later"));
  scene.Play("next", "", absl::StatusCode::kOk, Milliseconds(10));
  scene.Flush();
  EXPECT_TRUE(scene.file->Has("next"));
}

TEST(Tracer, FailuresThatAreNotSampledAreBounded) {
  Scene scene(Scene::kFile | Scene::kLog, {.spans = 0, .lines = 1});
  for (int i = 0; i < 3 * Tracer::kMaxFailures; ++i) {
    scene.Play("failed", "", absl::StatusCode::kUnavailable);
  }
  scene.Play("sampled", kSampled, absl::StatusCode::kUnavailable);
  scene.Flush();
  EXPECT_EQ(scene.file->Count("failed"), size_t{Tracer::kMaxFailures});
  EXPECT_EQ(scene.log->Count("failed"), size_t{3 * Tracer::kMaxFailures});
  EXPECT_TRUE(scene.file->Has("sampled"));
  EXPECT_EQ(scene.tracer->counts().dropped_requests, 0U);
  scene.Play("later", "", absl::StatusCode::kUnavailable);
  scene.Flush();
  EXPECT_TRUE(scene.file->Has("later")) << "after the next write";
}

TEST(Tracer, AccessLogHasItsShareAndNoSpans) {
  Scene scene(Scene::kFile | Scene::kLog, {.spans = 0, .lines = 1});
  scene.Play("fine", "", absl::StatusCode::kOk, Milliseconds(5));
  scene.Play("slow", "", absl::StatusCode::kOk, Milliseconds(500));
  scene.Play("failed", "", absl::StatusCode::kInternal);
  scene.Flush();
  for (const char* name : {"fine", "slow", "failed"}) {
    EXPECT_EQ(scene.log->Count(name), 1U) << name;
  }
  EXPECT_FALSE(scene.log->Has("resourceSpans"));
  EXPECT_FALSE(scene.file->Has("fine"));
  EXPECT_EQ(scene.file->Count("\"slow\""), 1U);
  EXPECT_EQ(scene.file->Count("\"failed\""), 1U);

  Scene none(Scene::kLog, {.spans = 0, .lines = 0});
  none.Play("fine");
  none.Flush();
  EXPECT_TRUE(none.log->IsEmpty());
}

TEST(Tracer, MalformedContextsAreIgnoredAndCounted) {
  Scene scene(Scene::kCollector);
  Tracer& tracer = *scene.tracer;
  const auto is_none = [](const Tracer::Begun& begun) {
    return begun.context.trace_id == TraceId{} && !begun.context.is_sampled;
  };
  EXPECT_TRUE(is_none(tracer.Begin("", 0)));
  EXPECT_EQ(tracer.counts().malformed_contexts, 0U);
  EXPECT_FALSE(is_none(tracer.Begin(kSampled, 1)));
  EXPECT_EQ(tracer.counts().malformed_contexts, 0U);
  EXPECT_TRUE(is_none(tracer.Begin(kSampled, 2)));
  EXPECT_TRUE(is_none(tracer.Begin("nonsense", 1)));
  EXPECT_TRUE(is_none(tracer.Begin("", 1)));
  EXPECT_EQ(tracer.counts().malformed_contexts, 3U);
}

TEST(Tracer, WhatIsNotTakenCounts) {
  Scene scene(Scene::kCollector | Scene::kLog, {.spans = 1, .lines = 1});
  {
    MutexLock lock(scene.collector->mutex);
    scene.collector->takes = false;
  }
  {
    MutexLock lock(scene.log->mutex);
    scene.log->takes = false;
  }
  scene.Play("one");
  scene.Flush();
  EXPECT_EQ(scene.tracer->counts().failed_spans, 2U);  // infer, queue
  EXPECT_EQ(scene.tracer->counts().written_spans, 0U);
  EXPECT_EQ(scene.tracer->counts().failed_lines, 1U);
}

TEST(Tracer, LossIsToldOnceAMinute) {
  Scene scene(Scene::kCollector, {.spans = 1});
  {
    MutexLock lock(scene.collector->mutex);
    scene.collector->takes = false;
  }
  const TimePoint now = Clock::Steady().Now();
  EXPECT_EQ(scene.tracer->Look(now), "");
  scene.Play("one");
  scene.Flush();
  EXPECT_TRUE(absl::StrContains(scene.tracer->Look(now), "got 2 spans and 0"));
  EXPECT_EQ(scene.tracer->Look(now + Tracer::kWarnEvery), "") << "nothing new";
  scene.Play("two");
  scene.Flush();
  EXPECT_EQ(scene.tracer->Look(now + Tracer::kWarnEvery - Milliseconds(1)), "");
  EXPECT_TRUE(absl::StrContains(scene.tracer->Look(now + Tracer::kWarnEvery),
                                "got 4 spans"));
}

TEST(Tracer, CollectorThatDoesNotTakeAPartIsNotAskedForTheRest) {
  Scene scene(Scene::kCollector, {.spans = 1});
  {
    MutexLock lock(scene.collector->mutex);
    scene.collector->takes = false;
  }
  for (int i = 0; i < 2000; ++i) {
    scene.Play("one");
  }
  scene.Flush();
  EXPECT_EQ(scene.collector->Count("resourceSpans"), 1U);
  EXPECT_EQ(scene.tracer->counts().failed_spans, 4000U);
}

TEST(Tracer, CollectorThatHangsHoldsUpNoFileAndNoEnd) {
  Scene scene(Scene::kCollector | Scene::kLog, {.spans = 1, .lines = 1});
  {
    MutexLock lock(scene.collector->mutex);
    scene.collector->hangs = true;
  }
  scene.Play("first");
  scene.Flush(Clock::Steady().Now());  // the collector's thread hangs in it
  while (!scene.log->Has("first")) {
    std::this_thread::yield();
  }
  scene.tracer.reset();  // returns
  // Its thread, left behind, ends too.
  MutexLock lock(scene.collector->mutex);
  scene.collector->hangs = false;
  scene.collector->opened.SignalAll();
  while (scene.collector->all.empty()) {
    scene.collector->opened.WaitUntil(scene.collector->mutex,
                                      Clock::Steady().Now() + Milliseconds(1));
  }
}

TEST(Tracer, SampledRequestsWithoutASinkForSpansAreNotKept) {
  Scene scene(Scene::kLog);
  const Tracer::Begun begun = scene.tracer->Begin(kSampled, 1);
  EXPECT_FALSE(begun.context.is_sampled);
  EXPECT_EQ(ToHex(begun.context.trace_id), "0af7651916cd43dd8448eb211c80319c");
}

TEST(Tracer, ExemplarsAreTheNewestOfTheirDurationThatIsWritten) {
  Scene scene(Scene::kCollector);
  const char* const other =
      "00-11111111111111111111111111111111-b7ad6b7169203331-01";
  scene.Play("short", kSampled, absl::StatusCode::kOk, Milliseconds(100));
  scene.Play("long", kSampled, absl::StatusCode::kOk, Milliseconds(64'000));
  scene.Play("long again", other, absl::StatusCode::kOk, Milliseconds(64'000));
  scene.Play("failed", kSampled, absl::StatusCode::kInternal);
  scene.Play("not sampled", kNotSampled);
  EXPECT_TRUE(scene.tracer->ExemplarsOf("m", "1").empty());
  scene.Flush();
  const std::vector<Exemplar> exemplars = scene.tracer->ExemplarsOf("m", "1");
  ASSERT_EQ(exemplars.size(), 2U);
  EXPECT_NEAR(exemplars[0].seconds, 0.1, 0.1);
  EXPECT_EQ(exemplars[0].trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_NEAR(exemplars[1].seconds, 64, 1);
  EXPECT_EQ(exemplars[1].trace_id, "11111111111111111111111111111111");
  EXPECT_GT(exemplars[1].ended, 1.7e9) << "a time of day";
  EXPECT_TRUE(scene.tracer->ExemplarsOf("m", "2").empty());
}

TEST(Tracer, WhatIsNotTakenHasNoExemplar) {
  Scene scene(Scene::kCollector);
  {
    MutexLock lock(scene.collector->mutex);
    scene.collector->takes = false;
  }
  scene.Play("one", kSampled);
  scene.Flush();
  EXPECT_TRUE(scene.tracer->ExemplarsOf("m", "1").empty());
}

}  // namespace
}  // namespace ferry
