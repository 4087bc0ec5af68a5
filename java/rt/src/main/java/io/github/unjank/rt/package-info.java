/**
 * Real-time priority for threads of a JVM on Linux, periodic tasks that no garbage collector can
 * stop, and short waits.
 *
 * <ul>
 *   <li>{@link io.github.unjank.rt.RtThread} gives and takes real-time priority.
 *   <li>{@link io.github.unjank.rt.CriticalTask} runs native code periodically, on a thread that
 *       the JVM does not know or in a process of its own, and exchanges messages with Java.
 *   <li>{@link io.github.unjank.rt.SpinWait} waits for a condition without notification and without
 *       keeping a CPU busy; {@link io.github.unjank.rt.SpinPolicy} is its decision. Both are pure
 *       Java.
 * </ul>
 *
 * <p>Settings, as system properties:
 *
 * <table>
 *   <caption>System properties</caption>
 *   <tr><th>property</th><th>meaning</th></tr>
 *   <tr><td>{@code unjank.rt.library}</td><td>absolute path of {@code libunjank_rt.so}, instead of
 *       the one in the jar</td></tr>
 *   <tr><td>{@code unjank.rt.task}</td><td>absolute path of the program {@code unjank-rt-task},
 *       instead of the one in the jar</td></tr>
 *   <tr><td>{@code unjank.rt.longest.run.ms}</td><td>longest time that a real-time thread may
 *       compute without a sleep before the kernel ends the process, 1000 by default ({@code
 *       RLIMIT_RTTIME})</td></tr>
 *   <tr><td>{@code unjank.rt.force}</td><td>{@code true} allows real-time priority on a machine
 *       whose real-time throttling is off</td></tr>
 * </table>
 */
package io.github.unjank.rt;
