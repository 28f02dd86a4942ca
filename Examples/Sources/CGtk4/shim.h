// SPDX-License-Identifier: Apache-2.0
// GTK 4 as Swift sees it.
#ifndef CGTK4_SHIM_H
#define CGTK4_SHIM_H

#include <gtk/gtk.h>
#ifdef GDK_WINDOWING_WAYLAND
#include <gdk/wayland/gdkwayland.h>
#endif

// As in the library's CGRunGLib: a name that Swift knows whether GLib marks its flags as such or not.
static const GApplicationFlags cgtk4_application_non_unique = G_APPLICATION_NON_UNIQUE;

// The dialog that chooses a file, as a pair of functions. From GTK 4.10 on, it is GtkFileDialog. Before, the pair is
// made of GtkFileChooserNative.
#if GTK_CHECK_VERSION(4, 10, 0)
static inline void cgtk4_choose_file (GtkWindow *parent, GCancellable *cancellable, GAsyncReadyCallback callback,
                                      gpointer user_data)
{
    GtkFileDialog *dialog = gtk_file_dialog_new ();
    gtk_file_dialog_open (dialog, parent, cancellable, callback, user_data);
    g_object_unref (dialog);
}

static inline GFile *cgtk4_choose_file_finish (GObject *dialog, GAsyncResult *result, GError **error)
{
    return gtk_file_dialog_open_finish (GTK_FILE_DIALOG (dialog), result, error);
}
#else
static inline void cgtk4_chooser_response (GtkNativeDialog *chooser, int response, GTask *task)
{
    GSource *cancelling = g_task_get_task_data (task);
    if (cancelling != NULL)
        g_source_destroy (cancelling);
    g_signal_handlers_disconnect_by_data (chooser, task);
    if (response == GTK_RESPONSE_ACCEPT)
        g_task_return_pointer (task, gtk_file_chooser_get_file (GTK_FILE_CHOOSER (chooser)), g_object_unref);
    else
        g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_FAILED, "the dialog was dismissed");
    g_object_unref (task);
}

static inline gboolean cgtk4_chooser_cancelled (GCancellable *cancellable G_GNUC_UNUSED, gpointer task)
{
    GtkNativeDialog *chooser = (GtkNativeDialog *)g_task_get_source_object ((GTask *)task);
    gtk_native_dialog_hide (chooser);
    // The task has a check of its cancellable: the error says that it was cancelled.
    cgtk4_chooser_response (chooser, GTK_RESPONSE_CANCEL, (GTask *)task);
    return G_SOURCE_REMOVE;
}

static inline void cgtk4_choose_file (GtkWindow *parent, GCancellable *cancellable, GAsyncReadyCallback callback,
                                      gpointer user_data)
{
    GtkFileChooserNative *chooser
        = gtk_file_chooser_native_new ("Choose a file", parent, GTK_FILE_CHOOSER_ACTION_OPEN, NULL, NULL);
    GTask *task = g_task_new (chooser, cancellable, callback, user_data);
    g_signal_connect (chooser, "response", G_CALLBACK (cgtk4_chooser_response), task);
    if (cancellable != NULL) {
        GSource *source = g_cancellable_source_new (cancellable);
        g_task_set_task_data (task, source, (GDestroyNotify)g_source_unref);
        g_task_attach_source (task, source, (GSourceFunc)cgtk4_chooser_cancelled);
    }
    gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
    g_object_unref (chooser);
}

static inline GFile *cgtk4_choose_file_finish (GObject *chooser G_GNUC_UNUSED, GAsyncResult *result, GError **error)
{
    return (GFile *)g_task_propagate_pointer (G_TASK (result), error);
}
#endif

#endif
