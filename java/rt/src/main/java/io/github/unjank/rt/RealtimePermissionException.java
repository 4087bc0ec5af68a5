package io.github.unjank.rt;

/**
 * Thrown if this process may not give a thread real-time priority. The message says what was
 * refused and how to allow it.
 */
public final class RealtimePermissionException extends SecurityException {
    private static final long serialVersionUID = 1L;

    private static final String FIX =
            "; to allow it: run with CAP_SYS_NICE, or raise the limit RLIMIT_RTPRIO"
                    + " (LimitRTPRIO=99 in a systemd unit, \"USER - rtprio 99\" in"
                    + " /etc/security/limits.conf, or: prlimit --rtprio=99 --pid PID as root)";

    /**
     * Called by the native half.
     *
     * @param refused the refused policy and the missing privilege
     */
    RealtimePermissionException(String refused) {
        super(refused.contains("CAP_SYS_NICE") ? refused + FIX : refused);
    }
}
