// Explore() visits every state that a small concurrent program can reach: all
// interleavings of its threads' steps, under sequential consistency.
//
// A program is a plain struct of bytes (its whole state, compared and hashed as
// such) and a function that gives the states one step of one thread leads to.
// The check is called for each state in which no thread can move.
//
// Thread safety: one thread.
#ifndef FERRY_TESTS_BATCHER_MODEL_EXPLORER_H_
#define FERRY_TESTS_BATCHER_MODEL_EXPLORER_H_

#include <cstddef>
#include <cstring>
#include <functional>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace ferry {

template <typename State>
struct HashOfBytes {
  size_t operator()(const State& state) const {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(&state), sizeof(State)});
  }
};

template <typename State>
struct EqualBytes {
  bool operator()(const State& a, const State& b) const {
    return std::memcmp(&a, &b, sizeof(State)) == 0;
  }
};

// `step(state, thread)` moves the thread by one step and returns whether it
// could. `at_rest(state)` may move what only moves when nothing else can (time)
// and returns whether it did; it is where properties are checked. Returns the
// number of states.
template <typename State>
size_t Explore(const State& start, int threads,
               const std::function<bool(State&, int)>& step,
               const std::function<bool(State&)>& at_rest) {
  static_assert(std::has_unique_object_representations_v<State>);
  std::unordered_set<State, HashOfBytes<State>, EqualBytes<State>> seen;
  std::vector<State> open;
  const auto visit = [&](const State& state) {
    if (seen.insert(state).second) {
      open.push_back(state);
    }
  };
  visit(start);
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    bool has_moved = false;
    for (int thread = 0; thread < threads; ++thread) {
      State next = state;
      if (step(next, thread)) {
        has_moved = true;
        visit(next);
      }
    }
    if (!has_moved) {
      State next = state;
      if (at_rest(next)) {
        visit(next);
      }
    }
  }
  return seen.size();
}

}  // namespace ferry

#endif  // FERRY_TESTS_BATCHER_MODEL_EXPLORER_H_
