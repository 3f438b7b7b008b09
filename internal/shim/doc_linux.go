// Package shim runs a program under supervision: every file-system call of it
// and of all its children that somebody wants to see is held by the kernel
// (seccomp user notification) until it has been decided.
//
// A run goes through these hands:
//
//	Main    makes two processes of one: a guard, and under it the supervisor.
//	        Whichever dies, the other one ends every subject.        guard, reap
//	Start   compiles the filter, puts it on a thread that dies, and starts the
//	        program from it, which is executed once before to see that it
//	        can be.                            preflight, launch, filter, calls
//	serve   receives each call at once, finds out which file it is about, asks
//	        the Decider, and answers.          run, shapes, look, breaks, watch
//	act     does what a rule wants: an errno is answered, a kill strikes, and
//	        what must be seen to its return is made by the subject itself while
//	        its thread is traced for the length of that one call.     act, hook
//	Wait    waits for the last process, and says why a run proves nothing.
//
// The shim never pretends. A torn write is the subject's own call with a smaller
// count, so its limits, signals and alignment hold; a close that fails has
// closed. What it cannot see it says: as a note, or by a Void error where the
// run proves nothing.
//
// One thing is beyond it. A call is let go on with its arguments as they stand
// then; a program whose other thread rewrites a path between our look and the
// kernel's is seen with the old one. Nothing here is a sandbox.
package shim
