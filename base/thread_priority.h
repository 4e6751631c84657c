// RaiseThreadPriority() puts what was accepted before what is offered.
//
// Where requests come faster than they can be served, the threads that receive
// and refuse them want the processors of those that compute and answer. Where
// both get the same share, most of it goes to requests that are refused:
// receive livelock (Mogul and Ramakrishnan, Eliminating Receive Livelock in an
// Interrupt-driven Kernel, 1997). So batcher threads, the timer and the threads
// that wait for a device have the higher priority, where the system allows it
// (docs/decisions/0034-overload-on-few-cores.md).
//
// The higher priority is off until a program asks for it: tests and yardsticks
// measure without.
//
// Thread safety: AllowRaisedPriority() is called once, before the threads that
// are to be raised; the others are thread-safe.
#ifndef FERRY_BASE_THREAD_PRIORITY_H_
#define FERRY_BASE_THREAD_PRIORITY_H_

namespace ferry {

// A raised thread's nice value is so much less than the process's, but at least
// -20: it has some ten times the share of a processor that another thread of
// the process has (the kernel's weights, sched_prio_to_weight of Linux).
inline constexpr int kRaisedBy = 10;

// Turns RaiseThreadPriority() on where the system lets this process raise its
// priority by all of that (CAP_SYS_NICE, or RLIMIT_NICE). Returns whether it
// does.
bool AllowRaisedPriority();

// Raises the calling thread's priority, and that of the threads that it starts
// from now on.
void RaiseThreadPriority();

// Raises the priority of the calling batcher thread, and lets it preempt no
// other thread when it wakes (SCHED_BATCH). Woken by the first request of many,
// it would else take the processor from the thread that receives the others,
// and leave with a batch of one (docs/decisions/0038-replies.md). Holds for the
// threads that it starts from now on, too. A thread with another policy than
// the system's own (SCHED_OTHER), as of chrt(1), keeps it.
void UseBatcherPriority();

}  // namespace ferry

#endif  // FERRY_BASE_THREAD_PRIORITY_H_
