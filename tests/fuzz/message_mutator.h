// MutateMessage changes a protobuf message, whatever its type, so that it stays
// one: bytes changed at random are mostly none.
//
// Thread safety: free function.
#ifndef FERRY_TESTS_FUZZ_MESSAGE_MUTATOR_H_
#define FERRY_TESTS_FUZZ_MESSAGE_MUTATOR_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <random>

namespace ferry {

// Changes `size` bytes, which have room for `max_size`, and returns their new
// number: LLVMFuzzerMutate.
using MutateBytes = size_t (*)(uint8_t* data, size_t size, size_t max_size);

// Changes one field of the message or of one that it holds: sets, clears,
// adds, removes, copies or swaps values. Texts stay UTF-8.
void MutateMessage(std::minstd_rand& random, MutateBytes mutate_bytes,
                   google::protobuf::Message& message);

}  // namespace ferry

#endif  // FERRY_TESTS_FUZZ_MESSAGE_MUTATOR_H_
