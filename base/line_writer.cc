// Implements LineWriter: a lock-free list of lines, and the thread that writes.
#include "base/line_writer.h"

#include <poll.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/event_count.h"
#include "base/push_list.h"
#include "base/write_all.h"

namespace ferry {
namespace {

constexpr int kFlushPollMs = 1;

struct Line {
  std::string text;
  Line* next = nullptr;

  size_t bytes() const { return sizeof(Line) + text.size(); }
};

}  // namespace

struct LineWriter::State {
  State(int its_fd, size_t its_max_bytes, DroppedText its_dropped_text)
      : fd(its_fd),
        max_bytes(its_max_bytes),
        dropped_text(std::move(its_dropped_text)) {}

  const int fd;
  const size_t max_bytes;
  const DroppedText dropped_text;

  PushList<Line, &Line::next> lines;
  EventCount wake;
  std::atomic<size_t> bytes{0};  // queued, or being written
  std::atomic<uint64_t> dropped{0};
  std::atomic<bool> is_closed{false};
  uint64_t told = 0;  // of those dropped; the thread's

  void Run();
  void WriteAndFree(Line* line);
  void TellDropped();
};

void LineWriter::State::Run() {
  pthread_setname_np(pthread_self(), "ferry-log");
  for (;;) {
    const EventCount::Key key = wake.PrepareWait();
    // Before it looks: what is written before the end is written out.
    const bool is_last = is_closed.load(std::memory_order_seq_cst);
    if (Line* const line = lines.TakeAll()) {
      wake.CancelWait();
      WriteAndFree(line);
    } else if (is_last) {
      wake.CancelWait();
      return;
    } else {
      wake.Wait(key, kNever);
    }
  }
}

void LineWriter::State::WriteAndFree(Line* line) {
  while (line != nullptr) {
    const std::unique_ptr<Line> written(std::exchange(line, line->next));
    if (WriteAll(fd, written->text) != 0) {
      dropped.fetch_add(1, std::memory_order_relaxed);
    }
    if (line == nullptr) {
      TellDropped();
    }
    bytes.fetch_sub(written->bytes(), std::memory_order_seq_cst);
  }
}

void LineWriter::State::TellDropped() {
  const uint64_t count = dropped.load(std::memory_order_relaxed);
  if (count != told && WriteAll(fd, dropped_text(count - told)) == 0) {
    told = count;
  }
}

LineWriter::LineWriter(int fd, size_t max_bytes, DroppedText dropped_text)
    : state_(std::make_shared<State>(fd, max_bytes, std::move(dropped_text))) {
  // Signals are for other threads, also that of a pipe that is closed.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([state = state_] { state->Run(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LineWriter::~LineWriter() {
  state_->is_closed.store(true, std::memory_order_seq_cst);
  state_->wake.Notify();
}

void LineWriter::Write(std::string line) {
  auto queued = std::make_unique<Line>(Line{.text = std::move(line)});
  const size_t size = queued->bytes();
  if (state_->bytes.fetch_add(size, std::memory_order_seq_cst) + size >
      state_->max_bytes) {
    state_->bytes.fetch_sub(size, std::memory_order_seq_cst);
    state_->dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  state_->lines.Push(*queued.release());
  state_->wake.Notify();
}

// It looks again and again: nothing that could wake it may be locked where it
// is called.
bool LineWriter::FlushBy(TimePoint until) const {
  while (state_->bytes.load(std::memory_order_seq_cst) > 0) {
    if (Clock::Steady().Now() >= until) {
      return false;
    }
    poll(nullptr, 0, kFlushPollMs);
  }
  return true;
}

uint64_t LineWriter::dropped() const {
  return state_->dropped.load(std::memory_order_relaxed);
}

}  // namespace ferry
