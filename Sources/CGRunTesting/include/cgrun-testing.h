// SPDX-License-Identifier: Apache-2.0
// The C code of GRunLoopTesting: a start before main(), the threads of the process, and GTK's functions, which only
// some test programs link.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: start.c

/// Starts the product on the main thread, before main(). If `drives` is false, the main loop does not get the main
/// thread. Defined in Swift: Start.swift.
void grun_testing_start(bool drives);

/// Stops the main thread permanently when the process exits on another thread. Defined in Swift: Start.swift.
void grun_testing_end(void);

// MARK: threads.c

/// Returns true if all other threads of the process sleep, except the ignored threads. Also returns true if the states
/// of the threads cannot be read.
bool cgrun_testing_other_threads_sleep(void);

/// Ignores the threads that are running now, until they wait.
void cgrun_testing_ignore_running_threads(void);

// MARK: gtk.c

/// Reports that GTK is being initialised on a thread that is not the main thread. Defined in Swift: GTK.swift.
void grun_testing_gtk_on_thread(int32_t thread);

/// Returns the thread that first initialised GTK; 0 if this program has called neither gtk_init() nor gtk_init_check().
int32_t cgrun_testing_gtk_thread(void);

/// Returns the major version of the GTK that the program has loaded; 0 if it has not loaded GTK.
int cgrun_testing_gtk_version(void);

/// Initialises GTK, and returns whether GTK has a display. Call this function only if the program has loaded GTK.
int cgrun_testing_gtk_start(void);

/// Draws a widget as a PNG file of `length` bytes, which the caller frees. Returns NULL if the widget was not drawn
/// yet.
uint8_t *cgrun_testing_gtk_picture(void *widget, size_t *length);
