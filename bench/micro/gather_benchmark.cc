// Measures what it costs to bring the rows of a batch together: as they are,
// padded, of strings, and cast from fp32 to bf16.
//
// memcpy of one block of the same size is the floor: what the memory takes. The
// loops by hand are what a backend would have without row_gather.h.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "batcher/row_gather.h"
#include "bench/micro/counted.h"
#include "bench/micro/row_batch.h"
#include "tensor/bytes_elements.h"

#if defined(FERRY_HAS_BF16_CAST)
#include "models/torch/bf16_cast.h"
#endif

namespace ferry::bench {
namespace {

// Each returns one past the last byte written.
std::byte* GatherByFerry(const RowBatch& rows, std::byte* to) {
  return GatherRows(rows.batch(), 0, to);
}

std::byte* GatherByHand(const RowBatch& rows, std::byte* to) {
  for (size_t r = 0; r < rows.requests(); ++r) {
    for (const ByteSegment& segment : rows.runs(r)) {
      std::memcpy(to, segment.data, segment.size);
      to += segment.size;
    }
  }
  return to;
}

// By way of a string that grows, as a handler that joins messages does.
std::byte* GatherByAppending(const RowBatch& rows, std::byte* to) {
  std::string joined;
  for (size_t r = 0; r < rows.requests(); ++r) {
    for (const ByteSegment& segment : rows.runs(r)) {
      joined.append(reinterpret_cast<const char*>(segment.data), segment.size);
    }
  }
  std::memcpy(to, joined.data(), joined.size());
  return to + joined.size();
}

std::byte* PadByFerry(const RowBatch& rows, std::byte* to) {
  return GatherPaddedRows(rows.batch(), 0, DataType::kFp32, 0, to);
}

// Zeros first, then the rows over them.
std::byte* PadByHand(const RowBatch& rows, std::byte* to) {
  const size_t row_bytes =
      static_cast<size_t>(rows.batch().row_dims(0).front()) * sizeof(float);
  std::memset(to, 0, rows.requests() * row_bytes);
  for (size_t r = 0; r < rows.requests(); ++r) {
    std::byte* at = to + r * row_bytes;
    for (const ByteSegment& segment : rows.runs(r)) {
      std::memcpy(at, segment.data, segment.size);
      at += segment.size;
    }
  }
  return to + rows.requests() * row_bytes;
}

using Gather = std::byte* (*)(const RowBatch&, std::byte*);

void BM_Gather(benchmark::State& state, Gather gather,
               const RowBatchOptions& options) {
  const RowBatch rows(options);
  const std::string expected = rows.Expected();
  std::vector<std::byte> to(expected.size(), std::byte{0x55});
  Check(gather(rows, to.data()) == to.data() + to.size() &&
            std::memcmp(to.data(), expected.data(), expected.size()) == 0,
        "the rows lie one after the other");
  for (auto _ : state) {
    benchmark::DoNotOptimize(gather(rows, to.data()));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() *
                          static_cast<int64_t>(rows.requests()));
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(expected.size()));
}

void BM_CopyBlock(benchmark::State& state, size_t bytes) {
  const std::vector<std::byte> from(bytes, std::byte{1});
  std::vector<std::byte> to(bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  Check(from == to, "the block is copied");
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

constexpr RowBatchOptions kSmallRows = {.requests = 32, .row_bytes = 1024};
constexpr RowBatchOptions kImages = {
    .requests = 8, .row_bytes = 602'112, .piece_bytes = 16384};
constexpr RowBatchOptions kPaddedRows = {
    .requests = 32, .row_bytes = 640, .padded_bytes = 1024};

// Not counted: what takes the time here is memcpy and the memory, and callgrind
// runs another memcpy than this processor does.
BENCHMARK_CAPTURE(BM_Gather, ferry, GatherByFerry, kSmallRows)
    ->Name("gather_32_rows_of_1_KiB/gather_rows");
BENCHMARK_CAPTURE(BM_Gather, hand, GatherByHand, kSmallRows)
    ->Name("gather_32_rows_of_1_KiB/memcpy_by_hand");
BENCHMARK_CAPTURE(BM_Gather, append, GatherByAppending, kSmallRows)
    ->Name("gather_32_rows_of_1_KiB/string_append");
BENCHMARK_CAPTURE(BM_CopyBlock, block, 32 * 1024)
    ->Name("gather_32_rows_of_1_KiB/memcpy_of_one_block");

BENCHMARK_CAPTURE(BM_Gather, ferry_images, GatherByFerry, kImages)
    ->Name("gather_8_images/gather_rows");
BENCHMARK_CAPTURE(BM_Gather, hand_images, GatherByHand, kImages)
    ->Name("gather_8_images/memcpy_by_hand");
BENCHMARK_CAPTURE(BM_Gather, append_images, GatherByAppending, kImages)
    ->Name("gather_8_images/string_append");
BENCHMARK_CAPTURE(BM_CopyBlock, block_images, 8 * 602'112)
    ->Name("gather_8_images/memcpy_of_one_block");

BENCHMARK_CAPTURE(BM_Gather, ferry_padded, PadByFerry, kPaddedRows)
    ->Name("pad_32_rows_to_1_KiB/gather_padded_rows");
BENCHMARK_CAPTURE(BM_Gather, hand_padded, PadByHand, kPaddedRows)
    ->Name("pad_32_rows_to_1_KiB/memset_and_memcpy");

constexpr int kTexts = 64;
constexpr size_t kTextBytes = 24;

std::string Texts() {
  std::string elements;
  for (int i = 0; i < kTexts; ++i) {
    AppendBytesElement(std::string(kTextBytes, static_cast<char>('a' + i % 26)),
                       elements);
  }
  return elements;
}

void BM_SkipTexts(benchmark::State& state) {
  const std::string elements = Texts();
  const ByteSegment segment = {
      reinterpret_cast<const std::byte*>(elements.data()), elements.size()};
  Check(!SkipBytesElements(
            *std::make_unique<SegmentReader>(absl::MakeConstSpan(&segment, 1)),
            kTexts + 1),
        "there are no more than that");
  for (auto _ : state) {
    SegmentReader reader(absl::MakeConstSpan(&segment, 1));
    Check(SkipBytesElements(reader, kTexts) && reader.at_end(),
          "the elements are all there");
    benchmark::DoNotOptimize(reader);
  }
  state.SetItemsProcessed(state.iterations() * kTexts);
}
BENCHMARK(BM_SkipTexts)
    ->Name("check_64_texts/skip_bytes_elements")
    ->Apply(Counted);

// Each text as a string of its own.
void BM_MakeTexts(benchmark::State& state) {
  const std::string elements = Texts();
  std::vector<std::string> texts;
  for (auto _ : state) {
    texts.clear();
    for (size_t at = 0; at + kBytesLengthSize <= elements.size();) {
      uint32_t length = 0;
      std::memcpy(&length, elements.data() + at, sizeof(length));
      at += kBytesLengthSize;
      Check(length <= elements.size() - at, "the elements are all there");
      texts.emplace_back(elements, at, length);
      at += length;
    }
    benchmark::DoNotOptimize(texts.data());
  }
  Check(texts.size() == kTexts && texts.back().size() == kTextBytes,
        "each text is found");
  state.SetItemsProcessed(state.iterations() * kTexts);
}
BENCHMARK(BM_MakeTexts)->Name("check_64_texts/std_strings")->Apply(Counted);

#if defined(FERRY_HAS_BF16_CAST)
// With a branch for NaN, as one writes it first.
void CastByBranch(const float* from, uint16_t* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (std::isnan(from[i])) {
      to[i] = 0x7fc0;
    } else {
      const auto bits = std::bit_cast<uint32_t>(from[i]);
      to[i] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
  }
}

// The upper half alone: off by up to one unit of the last place.
void CastByTruncation(const float* from, uint16_t* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(from[i]) >> 16);
  }
}

using Cast = void (*)(const float*, uint16_t*, int64_t);

void BM_Cast(benchmark::State& state, Cast cast, uint32_t most_off) {
  const int64_t count = state.range(0) / 4;
  std::vector<float> from;
  for (int64_t i = 0; i < count; ++i) {
    from.push_back(static_cast<float>(i) * 0.37F - 1000);
  }
  std::vector<uint16_t> to(from.size());
  cast(from.data(), to.data(), count);
  for (size_t i = 0; i < to.size(); ++i) {
    Check(ToBf16(from[i]) - static_cast<uint32_t>(to[i]) <= most_off,
          "each is the nearest bf16, or the one before it");
  }
  for (auto _ : state) {
    cast(from.data(), to.data(), count);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * count);
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// Not counted: callgrind knows no AVX-512, and takes the narrow loop.
void OfCastSizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1024)->Arg(602'112);
}
BENCHMARK_CAPTURE(BM_Cast, ferry, FloatToBf16, 0)
    ->Name("cast_to_bf16/float_to_bf16")
    ->Apply(OfCastSizes);
BENCHMARK_CAPTURE(BM_Cast, branch, CastByBranch, 0)
    ->Name("cast_to_bf16/loop_with_branch")
    ->Apply(OfCastSizes);
BENCHMARK_CAPTURE(BM_Cast, truncation, CastByTruncation, 1)
    ->Name("cast_to_bf16/truncation")
    ->Apply(OfCastSizes);
#endif

}  // namespace
}  // namespace ferry::bench
