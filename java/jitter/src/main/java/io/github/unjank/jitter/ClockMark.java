package io.github.unjank.jitter;

import jdk.jfr.Category;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The same moment on the clock of the recording and on that of {@link System#nanoTime()}. */
@Name(ClockMark.NAME)
@Label("Clock mark")
@Category("unjank")
@StackTrace(false)
final class ClockMark extends Event {
    static final String NAME = "unjank.ClockMark";

    @Label("System.nanoTime() at the beginning")
    long nanoTime;

    /** Records the current moment; on the recording's clock, it is the beginning of the event. */
    static void commitOne() {
        ClockMark narrowest = null;
        long width = Long.MAX_VALUE;
        for (int tries = 0; tries < 8; tries++) {
            ClockMark mark = new ClockMark();
            long before = System.nanoTime();
            mark.begin();
            long after = System.nanoTime();
            if (after - before < width) {
                width = after - before;
                mark.nanoTime = before + width / 2;
                narrowest = mark;
            }
        }
        narrowest.commit();
    }
}
