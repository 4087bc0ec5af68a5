import java.util.concurrent.locks.LockSupport;

/** Eight threads that fight for one monitor. */
class Monitor {
    private static long sum;

    public static void main(String[] arguments) {
        Object monitor = new Object();
        for (int number = 0; number < 8; number++) {
            new Thread(() -> fight(monitor), "fights-" + number).start();
        }
        System.out.println("ready");
    }

    private static void fight(Object monitor) {
        while (true) {
            synchronized (monitor) {
                long until = System.nanoTime() + 2_000_000;
                while (System.nanoTime() < until) {
                    sum++;
                }
            }
            // Or a thread gets it again before the one that it has woken is there.
            LockSupport.parkNanos(200_000);
        }
    }
}
