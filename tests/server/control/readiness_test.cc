// Tests when a server is ready, takes requests, and is live.
#include "server/control/readiness.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

class ReadinessTest : public testing::Test {
 protected:
  // Ready, takes requests, live: one letter each where it is so.
  std::string State() const {
    std::string state = readiness_.is_ready() ? "R" : "-";
    state += readiness_.takes_requests() ? "T" : "-";
    return state + (readiness_.is_live() ? "L" : "-");
  }

  FakeClock clock_;
  Readiness readiness_{clock_};
};

TEST_F(ReadinessTest, StateMovesForwardAlone) {
  EXPECT_EQ(State(), "--L") << "starting";
  readiness_.MoveTo(ServerState::kIncomplete);
  EXPECT_EQ(State(), "-TL");
  readiness_.MoveTo(ServerState::kReady);
  EXPECT_EQ(State(), "RTL");
  readiness_.MoveTo(ServerState::kDraining);
  EXPECT_EQ(State(), "--L");
  readiness_.MoveTo(ServerState::kReady);
  EXPECT_EQ(State(), "--L");
  readiness_.MoveTo(ServerState::kLost);
  EXPECT_EQ(State(), "---");
}

TEST_F(ReadinessTest, IsNotReadyWhileAPortIsBlind) {
  readiness_.MoveTo(ServerState::kReady);
  readiness_.PortIsBlind(true);
  readiness_.PortIsBlind(true);  // another one
  EXPECT_EQ(State(), "--L");
  readiness_.PortIsBlind(false);
  EXPECT_EQ(State(), "--L");
  readiness_.PortIsBlind(false);
  EXPECT_EQ(State(), "RTL");
}

TEST_F(ReadinessTest, IsNotReadyWhileModelsAreOverdueOrAThreadStalls) {
  readiness_.MoveTo(ServerState::kReady);
  readiness_.SetOverdue(true);
  EXPECT_EQ(State(), "-TL");
  readiness_.SetOverdue(false);
  readiness_.SetStalled(true);
  EXPECT_EQ(State(), "-TL");
  readiness_.SetStalled(false);
  EXPECT_EQ(State(), "RTL");
}

TEST_F(ReadinessTest, IsNotLiveWhereNothingLooksAfterItWhileItServes) {
  clock_.Advance(Readiness::kNoLook);
  EXPECT_EQ(State(), "--L") << "a start may take long";
  readiness_.Looked();
  readiness_.MoveTo(ServerState::kReady);
  clock_.Advance(Readiness::kNoLook - Duration(1));
  EXPECT_EQ(State(), "RTL");
  clock_.Advance(Duration(1));
  EXPECT_EQ(State(), "---");
  readiness_.Looked();
  EXPECT_EQ(State(), "RTL");
  readiness_.MoveTo(ServerState::kDraining);
  clock_.Advance(Readiness::kNoLook);
  EXPECT_EQ(State(), "--L") << "an end has bounds of its own";
}

}  // namespace
}  // namespace ferry
