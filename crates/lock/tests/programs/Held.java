/** Five threads behind one that has the monitor for as long as the program runs. */
class Held {
    public static void main(String[] arguments) throws InterruptedException {
        Object monitor = new Object();
        for (int number = 0; number < 6; number++) {
            new Thread(() -> sleep(monitor), "waits-" + number).start();
        }
        Thread.sleep(500);
        System.out.println("ready");
        Thread.sleep(1_200_000);
        System.exit(0);
    }

    private static void sleep(Object monitor) {
        synchronized (monitor) {
            try {
                Thread.sleep(1_200_000);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
