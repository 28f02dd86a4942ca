/* SPDX-License-Identifier: Apache-2.0 */
/* The version of the library, at compile time and at run time. */
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
 * The minor version of the headers. A new minor version adds functions, and removes none.
 */
#define GRUN_MINOR_VERSION (0)

/**
 * GRUN_MICRO_VERSION:
 *
 * The micro version of the headers. A new micro version only fixes bugs.
 */
#define GRUN_MICRO_VERSION (0)

/**
 * GRUN_CHECK_VERSION:
 * @major: the major version to ask for
 * @minor: the minor version to ask for
 * @micro: the micro version to ask for
 *
 * Checks whether the headers have at least the given version. grun_check_version() checks the library instead.
 */
#define GRUN_CHECK_VERSION(major, minor, micro) \
    (GRUN_MAJOR_VERSION > (major) || (GRUN_MAJOR_VERSION == (major) && GRUN_MINOR_VERSION > (minor)) || \
     (GRUN_MAJOR_VERSION == (major) && GRUN_MINOR_VERSION == (minor) && GRUN_MICRO_VERSION >= (micro)))

/* Marks an exported function. The macro's name contains the version that introduced the function. */
#define GRUN_AVAILABLE_IN_1_0 __attribute__((visibility("default"))) extern

/**
 * grun_check_version:
 * @required_major: the major version that is needed
 * @required_minor: the minor version that is needed
 * @required_micro: the micro version that is needed
 *
 * Checks whether the loaded library fits a program that needs the given version: the major versions are equal, and the
 * library is not older.
 *
 * Threads: any. GLib: glib_check_version().
 *
 * Returns: (nullable) (transfer none): %NULL if the program can use the library; otherwise a text, owned by the
 *   library, with the library's version and the reason
 */
GRUN_AVAILABLE_IN_1_0
const char *grun_check_version (guint required_major,
                                guint required_minor,
                                guint required_micro);

G_END_DECLS

#endif
