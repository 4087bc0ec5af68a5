// The program that Google Benchmark and hyperfine time in scripts/bench-coverage.sh.
#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>

static void sort_numbers(benchmark::State &state) {
    std::vector<unsigned> numbers(20000);
    for (auto _ : state) {
        unsigned number = 1;
        for (auto &place : numbers) place = number = number * 1664525u + 1013904223u;
        std::sort(numbers.begin(), numbers.end());
        benchmark::DoNotOptimize(numbers.data());
    }
}
BENCHMARK(sort_numbers);
BENCHMARK_MAIN();
