// Misses of Caffeine. Arguments: a file with the number of a page a line, and the maximum size of the
// cache. Prints the misses of each of five caches that count requests from the first one on
// (`initialCapacity`), then of five caches that begin to count when they are half full, which is
// Caffeine's default. Its choice is partly random.

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

public final class Misses {
  private static final int CACHES = 5;

  private Misses() {}

  public static void main(String[] arguments) throws IOException {
    int[] requests;
    try (var lines = Files.lines(Path.of(arguments[0]))) {
      requests = lines.mapToInt(Integer::parseInt).toArray();
    }
    int size = Integer.parseInt(arguments[1]);
    for (int cache = 0; cache < CACHES; cache++) {
      System.out.println(misses(requests, caches(size).initialCapacity(size).build()));
    }
    for (int cache = 0; cache < CACHES; cache++) {
      System.out.println(misses(requests, caches(size).build()));
    }
  }

  private static Caffeine<Object, Object> caches(int size) {
    return Caffeine.newBuilder().maximumSize(size).executor(Runnable::run);
  }

  private static long misses(int[] requests, Cache<Integer, Boolean> cache) {
    long misses = 0;
    for (int page : requests) {
      if (cache.getIfPresent(page) == null) {
        misses++;
        cache.put(page, Boolean.TRUE);
      }
      // Without it, evictions and counts of requests would wait in buffers.
      cache.cleanUp();
    }
    return misses;
  }
}
