/* SPDX-License-Identifier: Apache-2.0 */
/* Which version this is, at compile time and at run time. */
#ifndef GRUN_VERSION_H
#define GRUN_VERSION_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <glib.h>

G_BEGIN_DECLS

/**
 * GRUN_MAJOR_VERSION:
 *
 * The major version of the headers. It is part of the library's name: `libgrun-1.0`.
 */
#define GRUN_MAJOR_VERSION (1)

/**
 * GRUN_MINOR_VERSION:
 *
 * The minor version of the headers: functions come with it, and none goes.
 */
#define GRUN_MINOR_VERSION (0)

/**
 * GRUN_MICRO_VERSION:
 *
 * The micro version of the headers: nothing but mended faults.
 */
#define GRUN_MICRO_VERSION (0)

/**
 * GRUN_CHECK_VERSION:
 * @major: the major version to ask for
 * @minor: the minor version to ask for
 * @micro: the micro version to ask for
 *
 * Whether the headers are of this version or a later one. grun_check_version() asks the library.
 */
#define GRUN_CHECK_VERSION(major, minor, micro) \
    (GRUN_MAJOR_VERSION > (major) || (GRUN_MAJOR_VERSION == (major) && GRUN_MINOR_VERSION > (minor)) || \
     (GRUN_MAJOR_VERSION == (major) && GRUN_MINOR_VERSION == (minor) && GRUN_MICRO_VERSION >= (micro)))

/* Every exported function has one of these: its version is the first that has the function. */
#define GRUN_AVAILABLE_IN_1_0 __attribute__((visibility("default"))) extern

/**
 * grun_check_version:
 * @required_major: the major version that is needed
 * @required_minor: the minor version that is needed
 * @required_micro: the micro version that is needed
 *
 * Asks whether the library in use is of a version that a program can use which needs the given one.
 *
 * Threads: any. The corresponding GLib function is glib_check_version().
 *
 * Returns: (nullable) (transfer none): %NULL if it is; else a text that says what is wrong, which belongs to the
 *   library
 */
GRUN_AVAILABLE_IN_1_0
const char *grun_check_version (guint required_major,
                                guint required_minor,
                                guint required_micro);

G_END_DECLS

#endif
