package io.github.unjank.rt;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The decision table that this library shares with the Rust library {@code unjank-backoff}. */
class SpinPolicyTest {
    private static final Path TABLE =
            Path.of(System.getProperty("basedir", "."))
                    .resolve("../../crates/backoff/fixtures/spin_policy.json");

    private record SpinCase(String name, long budget, List<StepCase> steps, long pauses) {}

    private record StepCase(
            long waited, List<String> seen, int times, Long extend, JsonElement then) {}

    private record ExpectedCase(String name, long before, long waited, long after) {}

    private record BudgetCase(
            String name, long expected, long park, boolean squeezed, long budget) {}

    private record NapCase(long before, long nap) {}

    private static <T> List<T> cases(String of, Class<T> type) throws IOException {
        JsonObject table = JsonParser.parseString(Files.readString(TABLE)).getAsJsonObject();
        List<JsonElement> cases = table.getAsJsonArray(of).asList();
        assertFalse(cases.isEmpty(), of);
        return cases.stream().map(one -> new Gson().fromJson(one, type)).toList();
    }

    private static SpinPolicy.Circumstances circumstances(List<String> seen) {
        List<String> known = List.of("real_time", "switched_out", "others_parked");
        assertEquals(List.of(), seen.stream().filter(one -> !known.contains(one)).toList());
        return new SpinPolicy.Circumstances(
                seen.contains(known.get(0)),
                seen.contains(known.get(1)),
                seen.contains(known.get(2)));
    }

    private static SpinPolicy.Step step(JsonElement then) {
        if (then.isJsonPrimitive()) {
            assertEquals("park", then.getAsString());
            return new SpinPolicy.Park();
        }
        return new Gson().fromJson(then, SpinPolicy.Look.class);
    }

    @Test
    void steps() throws IOException {
        for (SpinCase one : cases("step", SpinCase.class)) {
            SpinPolicy spin = new SpinPolicy(one.budget);
            for (StepCase step : one.steps) {
                if (step.extend != null) {
                    spin.extend(step.extend);
                }
                SpinPolicy.Step last = null;
                for (int n = 0; n < step.times; n++) {
                    last = spin.step(step.waited, circumstances(step.seen));
                }
                assertEquals(step(step.then), last, one.name + ", " + step);
            }
            assertEquals(one.pauses, spin.pauses(), one.name);
        }
    }

    @Test
    void expectations() throws IOException {
        for (ExpectedCase one : cases("expected", ExpectedCase.class)) {
            SpinPolicy.Expected after = new SpinPolicy.Expected(one.before).with(one.waited);
            assertEquals(new SpinPolicy.Expected(one.after), after, one.name);
        }
    }

    @Test
    void budgets() throws IOException {
        for (BudgetCase one : cases("budget", BudgetCase.class)) {
            long budget = new SpinPolicy.Expected(one.expected).budget(one.park, one.squeezed);
            assertEquals(one.budget, budget, one.name);
        }
    }

    @Test
    void naps() throws IOException {
        for (NapCase one : cases("nap", NapCase.class)) {
            assertEquals(one.nap, SpinPolicy.napNanos(one.before), one.before + " before");
        }
    }

    @Test
    void anInvalidLengthIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> new SpinPolicy.Expected(-1));
        assertThrows(IllegalArgumentException.class, () -> new SpinPolicy.Expected(1L << 32));
    }
}
