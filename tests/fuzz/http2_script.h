// ReadScript reads an input of http2_fuzzer as what clients send on
// connections.
//
// Each step is a byte: its low half says what is done, its high half is the
// step's number, n. Some steps take bytes that follow; L is one of them.
//
//   0  ends the connection and begins another; n = 1: one without a preface
//   1  calls method n, whole
//   2  begins a call of method n: its headers
//   3  sends message n % 8 on the last stream; n >= 8: which ends it
//   4  sends a message of the next L bytes on the last stream; L is a byte
//   5  resets the stream that is n before the last
//   6  SETTINGS: the setting n, its value in four bytes
//   7  SETTINGS: acknowledged
//   8  WINDOW_UPDATE by four bytes; n = 0: of the connection
//   9  PING; n = 1: an answer to one
//   a  GOAWAY with the error n
//   b  CONTINUATION with flags n << 2, of the next L bytes
//   c  HEADERS of the next L bytes; the bits of n: END_STREAM and so on
//   d  a frame: type, flags and stream, a byte each, then L bytes
//   e  the next L bytes as they are
//   f  repeats the step before it 2^(n % 8) times
//
// Thread safety: free functions over plain values.
#ifndef FERRY_TESTS_FUZZ_HTTP2_SCRIPT_H_
#define FERRY_TESTS_FUZZ_HTTP2_SCRIPT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace ferry {

struct ScriptedConnection {
  std::string bytes;
  int calls = 0;  // that are whole and have an end
  // Whether the client has done nothing but such calls and what is always
  // allowed beside them: then each is answered.
  bool is_honest = true;
};

// At most four connections of 128 KiB.
std::vector<ScriptedConnection> ReadScript(absl::Span<const uint8_t> input);

// A PING whose answer shows that all before it was read.
std::string LastPing();

// The model that is served: "x" INT32 [2] is "y".
inline constexpr char kScriptModel[] = "echo";
inline constexpr char kScriptModelConfig[] = R"(
  name: "echo" backend: "ferry_echo" max_batch_size: 8
  input [{ name: "x" data_type: TYPE_INT32 dims: [2] }]
  output [{ name: "y" data_type: TYPE_INT32 dims: [2] }]
)";

}  // namespace ferry

#endif  // FERRY_TESTS_FUZZ_HTTP2_SCRIPT_H_
