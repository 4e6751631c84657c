// Tests which frames a client may send, byte by byte and all at once.
#include "server/net/frame_counter.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr int kData = 0;
constexpr int kHeaders = 1;
constexpr int kReset = 3;
constexpr int kSettings = 4;
constexpr int kPing = 6;
constexpr int kWindowUpdate = 8;
constexpr int kContinuation = 9;
constexpr int kEndStream = 1;
constexpr int kAck = 1;
constexpr int kEndHeaders = 4;
constexpr int kPriority = 0x20;

std::string Frame(int type, int flags, uint32_t stream,
                  const std::string& payload = "") {
  const size_t size = payload.size();
  std::string frame;
  for (const size_t byte :
       {size >> 16, size >> 8, size, static_cast<size_t>(type),
        static_cast<size_t>(flags), static_cast<size_t>(stream >> 24),
        static_cast<size_t>(stream >> 16), static_cast<size_t>(stream >> 8),
        static_cast<size_t>(stream)}) {
    frame += static_cast<char>(byte & 0xff);
  }
  return frame + payload;
}

// A field of a name and a value that enter no table.
std::string Field(const std::string& name, const std::string& value) {
  std::string field(1, '\0');
  for (const std::string* text : {&name, &value}) {
    field += static_cast<char>(text->size());
    field += *text;
  }
  return field;
}

class FrameCounterTest : public testing::Test {
 protected:
  FrameCounterTest() { Connect(); }

  void Connect() {
    counter_.reset();
    counter_ = std::make_unique<FrameCounter>(bounds_, totals_, clock_.Now());
    EXPECT_EQ(Read(kPreface), std::nullopt);
  }

  // A client that has acknowledged what the server sent.
  void Acknowledge() {
    counter_->Sent();
    EXPECT_EQ(Read(Frame(kSettings, kAck, 0)), std::nullopt);
  }

  std::optional<FrameFlood> Read(const std::string& bytes) {
    return counter_->Read(
        absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(bytes.data()),
                            bytes.size()),
        clock_);
  }

  // Sends up to `count` of them; returns how many were taken.
  template <typename Make>
  int Taken(int count, const Make& make) {
    for (int i = 0; i < count; ++i) {
      if (Read(make(i)).has_value()) {
        return i;
      }
    }
    return count;
  }

  static std::string Reset(int i) {
    const auto stream = static_cast<uint32_t>(2 * i + 1);
    return Frame(kHeaders, kEndHeaders, stream, Field(":path", "/a")) +
           Frame(kReset, 0, stream, "1234");
  }

  static std::string Call(int i) {
    return Frame(kHeaders, kEndHeaders | kEndStream,
                 static_cast<uint32_t>(2 * i + 1));
  }

  FakeClock clock_;
  FrameBounds bounds_;
  FrameTotals totals_;
  std::unique_ptr<FrameCounter> counter_;
};

TEST_F(FrameCounterTest, CallsOfAClientAreTakenHoweverTheyAreCut) {
  Acknowledge();
  std::string bytes;
  for (uint32_t stream = 1; stream < 20'000; stream += 2) {
    bytes +=
        Frame(kHeaders, kEndHeaders, stream,
              Field(":path", "/inference.GRPCInferenceService/ModelInfer"));
    bytes += Frame(kData, 0, stream, std::string(300, '\x01'));
    bytes += Frame(kData, kEndStream, stream);
    bytes += Frame(kWindowUpdate, 0, 0, "1234");
    bytes += Frame(kPing, kAck, 0, "12345678");
  }
  EXPECT_EQ(Read(bytes), std::nullopt);
  EXPECT_EQ(totals_.unfinished, 0);
  Connect();
  Acknowledge();
  for (const char byte : bytes.substr(0, 20'000)) {
    ASSERT_EQ(Read(std::string(1, byte)), std::nullopt);
  }
}

TEST_F(FrameCounterTest, HeadersThatAreTooLongAreAFloodAsSoonAsTheySaySo) {
  // 2^20 + 1, in the form of RFC 7541, 5.1, behind the name "x".
  const std::string long_value = {0, 1, 'x', 127, '\x82', '\xff', '\x3f'};
  EXPECT_EQ(Read(Frame(kHeaders, 0, 1, long_value)), FrameFlood::kHeaders);
  Connect();
  const std::string allowed = {0, 1, 'x', 127, '\x81', '\xff', '\x3f'};
  EXPECT_EQ(Read(Frame(kHeaders, 0, 1, allowed)), std::nullopt);
  Connect();
  const std::string endless = {0,      1,      'x',    127,    '\xff', '\xff',
                               '\xff', '\xff', '\xff', '\xff', '\xff'};
  EXPECT_EQ(Read(Frame(kHeaders, 0, 1, endless)), FrameFlood::kHeaders);
  Connect();
  const std::string long_name = {0, 127, '\x82', '\xff', '\x3f'};
  EXPECT_EQ(Read(Frame(kHeaders, 0, 1, long_name)), FrameFlood::kHeaders);
}

TEST_F(FrameCounterTest, BlocksThatDoNotEndAreAFlood) {
  EXPECT_EQ(Read(Frame(kHeaders, 0, 1, Field("a", "b"))), std::nullopt);
  const std::string piece =
      std::string("\0\1x\177\1", 5) + std::string(128, 'y');
  EXPECT_EQ(Taken(9000, [&](int) { return Frame(kContinuation, 0, 1, piece); }),
            3999);
  Connect();
  EXPECT_EQ(Read(Frame(kHeaders, 0, 1)), std::nullopt);
  const int empty =
      Taken(200'000, [](int) { return Frame(kContinuation, 0, 1); });
  EXPECT_EQ(empty, (1 << 20) / 9 - 1) << "their heads count";
}

TEST_F(FrameCounterTest, FieldsAreCountedWhateverTheirForm) {
  const std::string forms[] = {
      {'\x82'},                           // an index
      {'\x40', 1, 'a', 1, 'b'},           // enters the table
      {'\x44', 1, 'b'},                   // likewise, its name by index
      {0, 1, 'a', 0},                     // an empty value
      {'\x10', '\x81', 'a', '\x81', 'b'}  // never indexed, by Huffman's code
  };
  for (const std::string& form : forms) {
    Connect();
    std::string block;
    for (int i = 0; i < 4000; ++i) {
      block += form;
    }
    EXPECT_EQ(Read(Frame(kHeaders, kEndHeaders, 1, block)), std::nullopt);
    EXPECT_EQ(Read(Frame(kHeaders, kEndHeaders, 3, block + form)),
              FrameFlood::kHeaders);
  }
}

TEST_F(FrameCounterTest, PriorityIsNoField) {
  // Read as a field, it would declare a string of 2^31 bytes.
  const std::string priority = {0, 127, '\xff', '\xff', '\xff'};
  for (const char byte : Frame(kHeaders, kEndHeaders | kPriority, 1,
                               priority + Field("a", "b"))) {
    ASSERT_EQ(Read(std::string(1, byte)), std::nullopt);
  }
}

TEST_F(FrameCounterTest, BlocksThatGrpcReadsOtherwiseAreAFlood) {
  constexpr int kPadded = 8;
  EXPECT_EQ(Read(Frame(kHeaders, kEndHeaders | kPadded, 1, "\1xy")),
            FrameFlood::kHeaders);
  Connect();
  EXPECT_EQ(Read(Frame(kHeaders, kPriority, 1)), FrameFlood::kHeaders);
  Connect();
  // The flag is of HEADERS alone: this is a long name.
  const std::string long_name = {0, 127, '\x82', '\xff', '\x3f', 0, 0};
  EXPECT_EQ(Read(Frame(kHeaders, 0, 1)), std::nullopt);
  EXPECT_EQ(Read(Frame(kContinuation, kPriority, 1, long_name)),
            FrameFlood::kHeaders);
}

TEST_F(FrameCounterTest, NumbersOfStreamsHideNone) {
  for (const uint32_t hides : {0x80000001U, 0x7fffffffU, 0x7ffffffeU, 2U}) {
    Connect();
    Read(Frame(kHeaders, kEndHeaders, hides));
    EXPECT_LE(Taken(5000, [](int i) { return Call(i + 1); }), 2000) << hides;
  }
  Connect();
  EXPECT_EQ(Taken(5000, [](int) { return Frame(kHeaders, kEndHeaders, 2); }),
            2000);
}

// grpc-java gives a number to a call that waits for another to end, and sends
// nothing of one that is cancelled meanwhile.
TEST_F(FrameCounterTest, NumbersMayBeLeftOut) {
  Acknowledge();
  EXPECT_EQ(Taken(1000, [](int i) { return Call(1'000'000 * i); }), 1000);
  EXPECT_EQ(totals_.unfinished, 0);
}

TEST_F(FrameCounterTest, EndsOfOtherStreamsFinishNothing) {
  Acknowledge();
  for (int i = 0; i < 1000; ++i) {
    const auto stream = static_cast<uint32_t>(2 * i + 3);
    ASSERT_EQ(Read(Frame(kHeaders, kEndHeaders, stream)), std::nullopt);
    ASSERT_EQ(Read(Frame(kData, kEndStream, 1)), std::nullopt);
  }
  EXPECT_EQ(totals_.unfinished, 1000);
  EXPECT_EQ(Taken(5000, [](int) { return Frame(kData, kEndStream, 1); }), 1000)
      << "and are bounded as empty DATA is";
}

TEST_F(FrameCounterTest, WhatTheServerEndedIsForgottenAsOthersFinish) {
  Acknowledge();
  for (int i = 0; i < 20; ++i) {  // the client never ends these
    Read(Frame(kHeaders, kEndHeaders, static_cast<uint32_t>(2 * i + 1)));
  }
  EXPECT_EQ(totals_.unfinished, 20);
  EXPECT_EQ(Taken(4096, [](int i) { return Call(i + 20); }), 4096);
  EXPECT_EQ(totals_.unfinished, 19);
  constexpr int kRest = 19 * 4096;
  EXPECT_EQ(Taken(kRest, [](int i) { return Call(i + 20 + 4096); }), kRest);
  EXPECT_EQ(totals_.unfinished, 0);
}

TEST_F(FrameCounterTest, StreamsThatFinishHideNoneThatDoNot) {
  bounds_.unfinished = 100;
  Acknowledge();
  const auto begin = [](int i) {  // each leaves 99 numbers out
    return Frame(kHeaders, kEndHeaders, static_cast<uint32_t>(200 * i + 1));
  };
  EXPECT_EQ(Taken(32, begin), 32);
  EXPECT_EQ(Taken(4000, [](int i) { return Call(i + 3200); }), 4000);
  EXPECT_EQ(totals_.unfinished, 32);
  EXPECT_EQ(Taken(1000, [&](int i) { return begin(i + 72); }), 68);
}

TEST_F(FrameCounterTest, LongBlocksOfHeadersCountAsSeveralStreams) {
  const std::string part(10'000, '\0');
  Acknowledge();
  EXPECT_EQ(Read(Frame(kHeaders, 0, 1, Field(":path", "/a"))), std::nullopt);
  EXPECT_EQ(totals_.unfinished, 1);
  std::string block(1, '\0');
  block +=
      std::string("\x7f\xe1\x9c\x01", 4) + part + part;  // a name of 20,000
  EXPECT_EQ(Read(Frame(kContinuation, 0, 1, block)), std::nullopt);
  EXPECT_EQ(totals_.unfinished, 5);
  EXPECT_EQ(Read(Frame(kContinuation, kEndHeaders, 1, std::string(1, '\0'))),
            std::nullopt);
  EXPECT_EQ(Read(Frame(kData, kEndStream, 1)), std::nullopt);
  EXPECT_EQ(totals_.unfinished, 0);

  bounds_.unfinished = 100;
  const std::string long_value = Field("x", std::string(100, 'y'));
  std::string head;
  for (int i = 0; i < 600; ++i) {
    head += long_value;
  }
  const auto begin = [&](int i) {
    return Frame(kHeaders, kEndHeaders, static_cast<uint32_t>(2 * i + 3), head);
  };
  EXPECT_EQ(Taken(1000, begin), 6) << "each counts as 16";
}

TEST_F(FrameCounterTest, ClientsInGoPingWithEachReply) {
  Acknowledge();
  EXPECT_EQ(
      Taken(100'000,
            [](int i) { return Call(i) + Frame(kPing, 0, 0, "12345678"); }),
      100'000);
}

TEST_F(FrameCounterTest, HalfOfTheRequestsMayBeGivenUp) {
  Acknowledge();
  EXPECT_EQ(Taken(50'000,
                  [](int i) {
                    const auto stream = static_cast<uint32_t>(4 * i + 1);
                    return Call(2 * i) + Call(2 * i + 1) +
                           Frame(kReset, 0, stream, "1234");
                  }),
            50'000);
  Connect();
  Acknowledge();
  EXPECT_LT(Taken(50'000,
                  [](int i) {
                    return Call(i) + Frame(kReset, 0,
                                           static_cast<uint32_t>(2 * i + 1),
                                           "1234");
                  }),
            3000)
      << "a request that ended and was then given up allows none";
}

TEST_F(FrameCounterTest, ResetsFillUpAgain) {
  Acknowledge();
  EXPECT_EQ(Taken(5000, Reset), 3000);
  Connect();
  clock_.Advance(Milliseconds(3000));  // what all have together fills too
  Acknowledge();
  EXPECT_EQ(Taken(3000, Reset), 3000);
  clock_.Advance(Milliseconds(500));
  EXPECT_EQ(Taken(5000, [](int i) { return Reset(i + 3000); }), 500);
}

TEST_F(FrameCounterTest, IdleConnectionHasNoSecondBurst) {
  clock_.Advance(Milliseconds(10'000));
  Acknowledge();
  EXPECT_EQ(Taken(9000, Reset), 3000);
}

TEST_F(FrameCounterTest, ResetsOfAllConnectionsAreSharedEvenlyAndAFewAreFree) {
  const auto other = std::move(counter_);
  Connect();
  Acknowledge();
  EXPECT_EQ(Taken(5000, Reset), 3000) << "all that one may have";
  Connect();
  Acknowledge();
  EXPECT_EQ(Taken(5000, Reset), 64) << "its own, and what the first has left";
  for (int i = 0; i < 100; ++i) {
    Connect();
    Acknowledge();
    EXPECT_EQ(Taken(5000, Reset), 32) << "a few are free";
  }
  Connect();
  Acknowledge();
  EXPECT_EQ(Taken(5000,
                  [](int i) {
                    return Call(2 * i) + Call(2 * i + 1) +
                           Frame(kReset, 0, static_cast<uint32_t>(4 * i + 1),
                                 "1234");
                  }),
            5000)
      << "requests that end otherwise allow them";
  EXPECT_EQ(Taken(30, [](int i) { return Reset(10'000 + i); }), 30);
  clock_.Advance(Milliseconds(20));  // it has 10 of 20, which the other takes
  for (int i = 0; i < 20; ++i) {
    totals_.TakeReset(bounds_.all_resets, clock_);
  }
  EXPECT_EQ(Taken(50, [](int i) { return Reset(10'030 + i); }), 10);
}

TEST_F(FrameCounterTest, ControlFramesAreBoundedAndAcknowledgementsAreNot) {
  const std::string frames[] = {Frame(kPing, 0, 0, "12345678"),
                                Frame(kSettings, 0, 0), Frame(kData, 0, 1),
                                Frame(2, 0, 1, "12345"), Frame(77, 0, 0)};
  for (const std::string& frame : frames) {
    Connect();
    EXPECT_EQ(Taken(9000, [&](int) { return frame; }), 2000);
  }
  Connect();
  EXPECT_EQ(Taken(9000, [](int) { return Frame(kPing, kAck, 0, "12345678"); }),
            9000);
}

TEST_F(FrameCounterTest, StreamsBeforeTheSettingsAreAcknowledgedAreBounded) {
  EXPECT_EQ(Taken(5000, Call), 2000);
  Connect();
  // gRPC takes this for one of settings without a bound.
  EXPECT_EQ(Read(Frame(kSettings, kAck, 0)), std::nullopt);
  counter_->Sent();
  EXPECT_EQ(Taken(5000, Call), 2000);
  Connect();
  Acknowledge();
  EXPECT_EQ(Taken(5000, Call), 5000);
}

TEST_F(FrameCounterTest, UnfinishedRequestsAreSharedEvenlyAndAFewAreFree) {
  bounds_.unfinished = 100;
  const auto begin = [](int i) {
    return Frame(kHeaders, kEndHeaders, static_cast<uint32_t>(2 * i + 1));
  };
  const auto honest =
      std::make_unique<FrameCounter>(bounds_, totals_, clock_.Now());
  Acknowledge();
  EXPECT_EQ(Taken(9000, begin), 100) << "all of them, while there are no more";
  std::string first = kPreface;
  for (int i = 0; i < 32; ++i) {
    first += begin(i);
  }
  EXPECT_EQ(totals_.connections, 2);
  EXPECT_EQ(honest->Read(absl::MakeConstSpan(
                             reinterpret_cast<const uint8_t*>(first.data()),
                             first.size()),
                         clock_),
            std::nullopt)
      << "another has its own";
  counter_.reset();
  EXPECT_EQ(totals_.unfinished, 32);
  EXPECT_EQ(totals_.connections, 1);
}

}  // namespace
}  // namespace ferry
