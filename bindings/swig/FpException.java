// SPDX-License-Identifier: BSD-2-Clause

package libfp;

/** A call of libfp that failed; {@link #errno} says why, as libfp's headers list it. */
public final class FpException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The errno value, positive: 32 is EPIPE. */
    public final int errno;

    /** Thrown by the wrappers: a status of libfp and what fp_strerror() says of it. */
    public FpException(int errno, String message) {
        super(message);
        this.errno = errno;
    }

    /** The errno's name, for example "EPIPE". */
    public String errnoName() {
        return getMessage().split(":", 2)[0];
    }
}
