// Check...() judge facts of a machine, each one thing that keeps servers from
// their devices or slows them; DoctorAnswer() puts them together.
//
// Thread safety: free functions over values.
// Guarantees:
// 1. What could not be read is unknown, with the reason, and never fine.
// 2. Each finding says what was found and what to do.
// Errors: of DoctorAnswer(): FAILED_PRECONDITION where nothing could be looked
// at.
#ifndef FERRY_DEPLOY_CTL_DOCTOR_CHECKS_H_
#define FERRY_DEPLOY_CTL_DOCTOR_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "deploy/ctl/answer.h"
#include "deploy/ctl/doctor_facts.h"

namespace ferry::ctl {

struct Check {
  // kNothing: there is nothing to look at, as no server is named.
  enum class Outcome : uint8_t { kLookedAt, kNothing, kUnknown };

  std::string name;
  Outcome outcome = Outcome::kLookedAt;
  std::string evidence{};  // "580.95.05"
  std::vector<Finding> findings{};
};

// A driver that is missing, does not start, or is too old for CUDA 13.
Check CheckDriver(const DoctorFacts& facts);

// GPUs that are lost, do not tell, or have MIG on and no slice.
Check CheckGpus(const DoctorFacts& facts);

// Servers whose device is none, is not there, or is an index where MIG is on.
Check CheckServerDevices(const DoctorFacts& facts);

// The same of CUDA_VISIBLE_DEVICES in this process's environment.
Check CheckVisibleDevices(const DoctorFacts& facts);

// GPU instances that have several compute instances.
Check CheckComputeInstances(const DoctorFacts& facts);

// Several servers behind the daemon of MPS.
Check CheckMps(const DoctorFacts& facts);

Check CheckUvm(const DoctorFacts& facts);

// Ports of the servers that are taken, or given twice.
Check CheckPorts(const DoctorFacts& facts);

// The limit of open files, against --grpc-max-connections and MIG.
Check CheckOpenFiles(const DoctorFacts& facts);

// The control group's quota of processor time, against flags that say threads.
Check CheckProcessors(const DoctorFacts& facts);

// The control group's limit of memory, against --grpc-memory-bytes.
Check CheckMemory(const DoctorFacts& facts);

// A clock that is read by a call of the kernel.
Check CheckClockSource(const DoctorFacts& facts);

absl::StatusOr<Answer> DoctorAnswer(const DoctorFacts& facts);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_DOCTOR_CHECKS_H_
