// ReportCrashes() has a crash say what and where it is, before the process dies
// of it.
//
// A crash is SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP or SIGABRT, whether the
// process caused it or was sent it; an exception that nothing catches is the
// last of them. The log has what was logged before, then up to 32 frames with
// the names of functions, then a line with signal, address, thread, exception
// and build. That line and the first frames go to the reason file, too.
//
// Guarantees:
// 1. The process dies by the signal of the crash: a core is written where the
//    system is set so, and what waits for the process sees that signal.
// 2. It does so within some 12 s, whatever reads the log and wherever other
//    threads are. Where finding the frames takes longer than 10 s, it dies by
//    SIGABRT; where that crashes in turn, without the frames that are left.
// 3. A thread whose stack is full tells of it where it is the main thread or
//    has a SignalStack (base/signal_stack.h). Another dies without a word, as
//    does one that blocks these signals: those that write the log.
//
// The frames are found and named by Abseil's failure signal handler; what it
// would write itself goes nowhere, as the log's own descriptor may have no
// room.
//
// Thread safety: called once, by the main thread, after StartLog().
#ifndef FERRY_SERVER_CRASH_REPORT_H_
#define FERRY_SERVER_CRASH_REPORT_H_

namespace ferry {

void ReportCrashes();

}  // namespace ferry

#endif  // FERRY_SERVER_CRASH_REPORT_H_
