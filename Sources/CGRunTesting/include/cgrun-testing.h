// SPDX-License-Identifier: Apache-2.0
// The C code of GRunLoopTesting: a start before main(), the threads of the process, and GTK's functions, which only
// some test programs link.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: start.c

/// Starts the product, on the main thread, before main(). If `drives` is false, the main loop does not get the main
/// thread. Defined in Swift: Start.swift.
void grun_testing_start(bool drives);

/// Stops the main thread for good, when the process exits on another thread. Defined in Swift: Start.swift.
void grun_testing_end(void);

// MARK: threads.c

/// Whether all other threads of the process sleep, except those that are ignored. True if that cannot be found out.
bool cgrun_testing_other_threads_sleep(void);

/// Ignores the threads that run now, until they wait for something.
void cgrun_testing_ignore_running_threads(void);

// MARK: gtk.c

/// Reports that GTK is being initialised on a thread that is not the main one. Defined in Swift: GTK.swift.
void grun_testing_gtk_on_thread(int32_t thread);

/// The thread that has initialised GTK first; 0 if gtk_init() and gtk_init_check() were not called by this program.
int32_t cgrun_testing_gtk_thread(void);

/// The major version of the GTK that the program has loaded; 0 if it has none.
int cgrun_testing_gtk_version(void);

/// Initialises GTK, and returns whether it has a display. Call it only if the program has GTK.
int cgrun_testing_gtk_start(void);

/// Draws a widget as a PNG file of `length` bytes, which the caller frees. NULL if the widget was not drawn yet.
uint8_t *cgrun_testing_gtk_picture(void *widget, size_t *length);
