// Tests that the reason is found in what LibTorch throws.
#include "models/failure_reason.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

// What the interpreter of TorchScript says of a call `depth` modules deep.
std::string Trace(const std::string& reason, int depth = 4) {
  std::string what =
      "The following operation failed in the TorchScript interpreter.\n"
      "Traceback of TorchScript, serialized code (most recent call last):\n";
  for (int i = 0; i < depth; ++i) {
    absl::StrAppend(&what, "  File \"code/__torch__.py\", line ", 8 * i,
                    ", in forward\n    x: Tensor) -> Tensor:\n"
                    "    return (m).forward(x, )\n"
                    "            ~~~~~~~~~~ <--- HERE\n"
                    "class m(Module):\n  __parameters__ = []\n");
  }
  absl::StrAppend(&what,
                  "\nTraceback of TorchScript, original code (most "
                  "recent call last):\n");
  for (int i = 0; i < depth; ++i) {
    absl::StrAppend(&what,
                    "  File \"model.py\", line 2, in forward\n"
                    "def forward(self, x):\n  assert bool((x < 5).all())\n"
                    "  ~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE\n"
                    "  return x\n");
  }
  return absl::StrCat(what, reason, "\n");
}

std::string ReasonIn(const std::string& what) {
  return std::string(AsFailure(what).message());
}

TEST(FailureReasonTest, IsWhatStandsBehindTheTrace) {
  for (const int depth : {1, 4, 50}) {
    EXPECT_EQ(
        ReasonIn(Trace("RuntimeError: index out of range in self", depth)),
        "index out of range in self");
  }
  EXPECT_EQ(ReasonIn(Trace("RuntimeError: AssertionError: ids below 5")),
            "AssertionError: ids below 5");
  EXPECT_EQ(ReasonIn(Trace("my.pkg.TooLong: 512 at most")),
            "my.pkg.TooLong: 512 at most");
}

TEST(FailureReasonTest, OfSeveralLinesStaysWhole) {
  EXPECT_EQ(ReasonIn(Trace("ValueError: first\n  second\nthird: more")),
            "ValueError: first\n  second\nthird: more");
}

TEST(FailureReasonTest, ThatIsNoWordIsTheLineOfCode) {
  EXPECT_EQ(ReasonIn(Trace("RuntimeError: AssertionError: ")),
            "AssertionError: assert bool((x < 5).all())");
}

TEST(FailureReasonTest, OfTracedModelsStandsBehindPythonsFrames) {
  EXPECT_EQ(
      ReasonIn("The following operation failed in the TorchScript "
               "interpreter.\n"
               "Traceback of TorchScript, serialized code (most recent call "
               "last):\n"
               "  File \"code/__torch__.py\", line 9, in forward\n"
               "    return torch.embedding(w, x)\n"
               "           ~~~~~~~~~~~~~~~ <--- HERE\n\n"
               "Traceback of TorchScript, original code (most recent call "
               "last):\n"
               "/a/functional.py(2551): embedding\n"
               "/a/module.py(1790): _slow_forward\n"
               "<stdin>(1): <module>\n"
               "RuntimeError: index out of range in self\n"),
      "index out of range in self");
}

TEST(FailureReasonTest, OfTheCompilerStandsBeforeTheCode) {
  EXPECT_EQ(ReasonIn("\nUnknown builtin op: aten::nosuch.\n"
                     "It may not exist.\n:\n"
                     "  File \"<string>\", line 2\n"
                     "def forward(self, x):\n"
                     "  return torch.nosuch(x)\n"
                     "         ~~~~~~~~~~~~ <--- HERE\n"),
            "Unknown builtin op: aten::nosuch.\nIt may not exist.");
}

TEST(FailureReasonTest, WithoutTraceIsTheText) {
  EXPECT_EQ(ReasonIn("mat1 and mat2 shapes cannot be multiplied"),
            "mat1 and mat2 shapes cannot be multiplied");
  EXPECT_EQ(ReasonIn("RuntimeError of a library: no\nsuch device"),
            "RuntimeError of a library: no\nsuch device");
  EXPECT_EQ(ReasonIn(""), "");
}

TEST(FailureReasonTest, IsBounded) {
  EXPECT_EQ(ReasonIn(std::string(5000, 'x')), std::string(1000, 'x') + "...");
}

TEST(FailureReasonTest, TraceGoesAlong) {
  const std::string what = Trace("RuntimeError: no");
  EXPECT_EQ(TraceOf(AsFailure(what)), what);
  EXPECT_EQ(TraceOf(AsFailure("no")), "");
  EXPECT_EQ(TraceOf(absl::InternalError("no")), "");
}

TEST(ReasonCodeTest, IsOfModelAndReasonWhateverNumbers) {
  const uint32_t code = ReasonCode("m", "index 9 is out of bounds for size 5");
  EXPECT_EQ(code, ReasonCode("m", "index 1234 is out of bounds for size 50"));
  EXPECT_NE(code, ReasonCode("m", "index is out of bounds for size 5"));
  EXPECT_NE(code, ReasonCode("n", "index 9 is out of bounds for size 5"));
  EXPECT_EQ(ReasonCode("m", "no"), 0x549f6e27u) << "the same in each process";
}

// The texts of LibTorch 2.11: its allocator, a call of CUDA, cuBLAS and cuDNN.
TEST(TellsOutOfMemoryTest, WhatHadNoMemorySaysSo) {
  EXPECT_TRUE(
      TellsOutOfMemory("The following operation failed in the TorchScript "
                       "interpreter.\nRuntimeError: CUDA out of memory. Tried "
                       "to allocate 48.00 MiB."));
  EXPECT_TRUE(TellsOutOfMemory("CUDA error: out of memory\nSearch for it"));
  EXPECT_TRUE(TellsOutOfMemory(
      "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"));
  EXPECT_TRUE(TellsOutOfMemory("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"));
  EXPECT_FALSE(TellsOutOfMemory("CUDA error: an illegal memory access"));
  EXPECT_FALSE(TellsOutOfMemory("CUBLAS_STATUS_EXECUTION_FAILED"));
}

// LibTorch 2.11 throws it where NVML refuses.
TEST(TellsOutOfMemoryTest, AnAssertionOfTheAllocatorAboutNvmlIsOne) {
  EXPECT_TRUE(TellsOutOfMemory(
      "NVML_SUCCESS == r INTERNAL ASSERT FAILED at "
      "\"/pytorch/c10/cuda/CUDACachingAllocator.cpp\":1154, please report a "
      "bug to PyTorch."));
  EXPECT_FALSE(TellsOutOfMemory(
      "r == 0 INTERNAL ASSERT FAILED at "
      "\"/pytorch/c10/cuda/CUDACachingAllocator.cpp\":7, please report a bug"));
  EXPECT_FALSE(TellsOutOfMemory("index out of range in self"));
}

}  // namespace
}  // namespace ferry
