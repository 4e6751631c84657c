// Implements DivisionGuard: a handler of SIGFPE steps over the instruction.
#include "models/torch/division_guard.h"

#include <signal.h>
#include <ucontext.h>

#include <atomic>

namespace ferry {
namespace {

// What the handler reads and writes of its thread is volatile: the compiler
// does not see the call.
thread_local volatile int guards_here = 0;
thread_local volatile int64_t faults_here = 0;
std::atomic<int> guards{0};
std::atomic<int64_t> faults_elsewhere{0};  // in threads without a guard

#if defined(__x86_64__)

bool IsPrefix(uint8_t byte) {
  for (const int prefix :
       {0x66, 0x67, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65, 0xF2, 0xF3}) {
    if (byte == prefix) {
      return true;
    }
  }
  return false;
}

// Returns the bytes of an operand after its ModR/M byte: SIB, displacement.
int OperandBytes(uint8_t mod_rm, uint8_t sib) {
  const int mode = mod_rm >> 6;
  const int place = mod_rm & 7;
  if (mode == 3) {  // a register
    return 0;
  }
  const bool has_sib = place == 4;
  const bool has_no_base = mode == 0 && (has_sib ? sib & 7 : place) == 5;
  return (has_sib ? 1 : 0) + (mode == 1 ? 1 : mode == 2 || has_no_base ? 4 : 0);
}

// Gives the division at the context's instruction the quotient and remainder 0,
// and goes behind it; false where it is no division. Intel's manual, volume 2:
// F6 /6, F6 /7, F7 /6 and F7 /7 are DIV and IDIV.
bool StepOver(greg_t* registers) {
  const auto* code = reinterpret_cast<const uint8_t*>(registers[REG_RIP]);
  bool is_16_bit = false;
  for (; IsPrefix(*code); ++code) {
    is_16_bit |= *code == 0x66;
  }
  if ((*code & 0xF0) == 0x40) {  // REX, whose W says 64 bits
    is_16_bit &= (*code & 8) == 0;
    ++code;
  }
  const uint8_t opcode = code[0];
  const uint8_t mod_rm = code[1];
  if ((opcode != 0xF6 && opcode != 0xF7) || ((mod_rm >> 3) & 7) < 6) {
    return false;
  }
  const greg_t kept = is_16_bit || opcode == 0xF6 ? ~greg_t{0xFFFF} : 0;
  registers[REG_RAX] &= kept;
  if (opcode == 0xF7) {
    registers[REG_RDX] &= kept;
  }
  code += 2 + OperandBytes(mod_rm, code[2]);
  registers[REG_RIP] = reinterpret_cast<greg_t>(code);
  return true;
}

void OnFault(int /*signal*/, siginfo_t* about, void* context) {
  auto* const interrupted = static_cast<ucontext_t*>(context);
  if (about->si_code == FPE_INTDIV && guards > 0 &&
      StepOver(interrupted->uc_mcontext.gregs)) {
    if (guards_here > 0) {
      faults_here = faults_here + 1;
    } else {
      ++faults_elsewhere;
    }
    return;
  }
  signal(SIGFPE, SIG_DFL);
  raise(SIGFPE);  // taken as this returns, as where it was sent
}

bool HandleFaults() {
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO;
  return sigaction(SIGFPE, &action, nullptr) == 0;
}

#else
bool HandleFaults() { return true; }
#endif

}  // namespace

DivisionGuard::DivisionGuard(FaultsOf faults_of)
    : faults_of_(faults_of),
      other_faults_(faults_elsewhere),
      own_faults_(faults_here) {
  [[maybe_unused]] static const bool is_handled = HandleFaults();
  guards_here = guards_here + 1;
  ++guards;
}

DivisionGuard::~DivisionGuard() {
  --guards;
  guards_here = guards_here - 1;
}

bool DivisionGuard::has_faulted() const {
  return faults_here != own_faults_ || (faults_of_ == FaultsOf::kOtherThreads &&
                                        faults_elsewhere != other_faults_);
}

}  // namespace ferry
