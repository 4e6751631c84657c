// Explore() visits every state that a small concurrent program can reach: all
// interleavings of its threads' steps, under sequential consistency.
//
// A program is a plain struct of bytes (its whole state, compared and hashed as
// such) and a function that gives the states to which one step leads. States
// that differ in nothing that matters should be made equal by that function:
// it costs less than to visit them all.
//
// Thread safety: one thread.
#ifndef FERRY_TESTS_BATCHER_MODEL_EXPLORER_H_
#define FERRY_TESTS_BATCHER_MODEL_EXPLORER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ferry {

enum class Move {
  kNone,   // it cannot move
  kMoved,  // it will, if nobody else does
  kSlow,   // it may, after all others have come to rest: a device computes
};

// The states seen, each kept once, in a table of their numbers.
template <typename State>
class StateSet {
  static_assert(std::has_unique_object_representations_v<State>);

 public:
  StateSet() : table_(1 << 16, kEmpty) {}

  size_t size() const { return states_.size(); }
  const State& operator[](size_t number) const { return states_[number]; }

  // Returns whether it is new: then it is the last.
  bool Insert(const State& state) {
    if (states_.size() * 2 >= table_.size()) {
      Grow();
    }
    uint32_t& place = PlaceOf(state);
    if (place != kEmpty) {
      return false;
    }
    place = static_cast<uint32_t>(states_.size());
    states_.push_back(state);
    return true;
  }

 private:
  static constexpr uint32_t kEmpty = ~uint32_t{0};

  uint32_t& PlaceOf(const State& state) {
    const size_t hash = std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(&state), sizeof(State)});
    for (size_t i = hash;; ++i) {
      uint32_t& place = table_[i & (table_.size() - 1)];
      if (place == kEmpty ||
          std::memcmp(&states_[place], &state, sizeof(State)) == 0) {
        return place;
      }
    }
  }

  void Grow() {
    table_.assign(table_.size() * 2, kEmpty);
    for (size_t i = 0; i < states_.size(); ++i) {
      PlaceOf(states_[i]) = static_cast<uint32_t>(i);
    }
  }

  std::vector<State> states_;
  std::vector<uint32_t> table_;
};

// `step(state, choice)`, of `choices` many, moves one thread by one step.
// `at_rest(state)` is called where no other than slow moves are left; it is
// where properties are checked. It may move what only moves then (time) and
// returns whether it did. Returns the number of states.
template <typename State, typename Step, typename AtRest>
size_t Explore(const State& start, int choices, Step&& step, AtRest&& at_rest) {
  StateSet<State> seen;
  std::vector<size_t> open;
  const auto visit = [&](const State& state) {
    if (seen.Insert(state)) {
      open.push_back(seen.size() - 1);
    }
  };
  visit(start);
  while (!open.empty()) {
    const State state = seen[open.back()];
    open.pop_back();
    bool is_at_rest = true;
    for (int choice = 0; choice < choices; ++choice) {
      State next = state;
      const Move move = step(next, choice);
      if (move != Move::kNone) {
        visit(next);
      }
      is_at_rest = is_at_rest && move != Move::kMoved;
    }
    if (is_at_rest) {
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
