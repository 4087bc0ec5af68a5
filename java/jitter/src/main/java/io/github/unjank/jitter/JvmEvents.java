package io.github.unjank.jitter;

import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Records the pauses and safepoints of this JVM with its flight recorder (JFR). */
final class JvmEvents implements AutoCloseable {
    private static final String PAUSE = "jdk.GCPhasePause";
    private static final String COLLECTION = "jdk.GarbageCollection";
    private static final String CONCURRENT = "jdk.GCPhaseConcurrent";
    private static final String STOPPING = "jdk.SafepointStateSynchronization";
    private static final String END = "jdk.SafepointEnd";
    private static final String OPERATION = "jdk.ExecuteVMOperation";
    private static final String LOSS = "jdk.DataLoss";

    private final Recording recording;
    private final PrintStream complaints;

    private JvmEvents(Recording recording, PrintStream complaints) {
        this.recording = recording;
        this.complaints = complaints;
    }

    /**
     * Starts recording. If this JVM has no flight recorder, prints that there are no events.
     */
    static JvmEvents start(PrintStream complaints) {
        try {
            if (!FlightRecorder.isAvailable()) {
                return none(complaints, "it is not available");
            }
            Recording recording = new Recording();
            for (String name :
                    List.of(PAUSE, COLLECTION, CONCURRENT, STOPPING, END, OPERATION, LOSS)) {
                recording.enable(name).withoutThreshold().withoutStackTrace();
            }
            recording.enable(ClockMark.class).withoutThreshold();
            recording.setToDisk(true);
            recording.start();
            return new JvmEvents(recording, complaints);
        } catch (RuntimeException | LinkageError missing) {
            return none(complaints, missing.toString());
        }
    }

    private static JvmEvents none(PrintStream complaints, String why) {
        complaints.println(
                "unjank-jitter: no events of this JVM, because it has no flight recorder: " + why);
        return new JvmEvents(null, complaints);
    }

    /** Records the current moment on both clocks. */
    void mark() {
        if (recording != null) {
            ClockMark.commitOne();
        }
    }

    /** Ends the recording; returns the events that overlap two moments, by their beginning. */
    List<JvmEvent> between(long from, long to) throws IOException {
        if (recording == null) {
            return List.of();
        }
        recording.stop();
        Path file = Files.createTempFile("unjank-jitter-", ".jfr");
        try {
            recording.dump(file);
            return convert(RecordingFile.readAllEvents(file)).stream()
                    .filter(event -> event.begin() < to && event.begin() + event.duration() > from)
                    .sorted(Comparator.comparingLong(JvmEvent::begin))
                    .toList();
        } finally {
            Files.deleteIfExists(file);
        }
    }

    @Override
    public void close() {
        if (recording != null) {
            recording.close();
        }
    }

    private List<JvmEvent> convert(List<RecordedEvent> recorded) {
        ClockLine clock = new ClockLine();
        Map<Long, String> collections = new HashMap<>();
        Map<Long, Safepoint> safepoints = new HashMap<>();
        List<JvmEvent> events = new ArrayList<>();
        for (RecordedEvent event : recorded) {
            switch (event.getEventType().getName()) {
                case ClockMark.NAME ->
                        clock.add(WallClock.nanos(event.getStartTime()), event.getLong("nanoTime"));
                case COLLECTION ->
                        collections.put(
                                event.getLong("gcId"),
                                event.getString("name") + ", " + event.getString("cause"));
                    // Not jdk.SafepointBegin: it first waits for concurrent threads of the
                    // collector, while Java threads still run.
                case STOPPING -> safepoint(safepoints, event).begin = event.getStartTime();
                    // The beginning of SafepointEnd, microseconds before the threads go on. Its
                    // end may be long after, when the VM thread runs again.
                case END -> safepoint(safepoints, event).end = event.getStartTime();
                case OPERATION -> {
                    if (event.getBoolean("safepoint")) {
                        safepoint(safepoints, event).name = event.getString("operation");
                    }
                }
                case LOSS ->
                        complaints.println("unjank-jitter: the flight recorder has lost events");
                default -> {}
            }
        }
        for (RecordedEvent event : recorded) {
            String type = event.getEventType().getName();
            boolean pause = type.equals(PAUSE);
            if (pause || type.equals(CONCURRENT)) {
                String name = event.getString("name");
                String collection = collections.get(event.getLong("gcId"));
                // The name of most pauses is just "GC Pause".
                boolean plain = pause && collection != null && name.equals("GC Pause");
                JvmEvent.Kind kind = pause ? JvmEvent.Kind.PAUSE : JvmEvent.Kind.CONCURRENT;
                events.add(
                        event(
                                clock,
                                kind,
                                event.getStartTime(),
                                event.getEndTime(),
                                plain ? collection : name));
            }
        }
        for (Safepoint point : safepoints.values()) {
            if (point.begin != null && point.end != null) {
                events.add(
                        event(clock, JvmEvent.Kind.SAFEPOINT, point.begin, point.end, point.name));
            }
        }
        return events;
    }

    /**
     * A safepoint, from the moment when threads must stop until they may go on.
     */
    private static final class Safepoint {
        Instant begin;
        Instant end;
        String name = "safepoint";
    }

    private static Safepoint safepoint(Map<Long, Safepoint> safepoints, RecordedEvent event) {
        return safepoints.computeIfAbsent(event.getLong("safepointId"), id -> new Safepoint());
    }

    private static JvmEvent event(
            ClockLine clock, JvmEvent.Kind kind, Instant begin, Instant end, String name) {
        long from = clock.nanoTime(WallClock.nanos(begin));
        return new JvmEvent(kind, from, clock.nanoTime(WallClock.nanos(end)) - from, name);
    }
}
