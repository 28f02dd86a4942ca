/* SPDX-License-Identifier: Apache-2.0 */
/* Notification queues, which post notifications later, and equal ones only once. */
#ifndef GRUN_NOTIFICATION_QUEUE_H
#define GRUN_NOTIFICATION_QUEUE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunPostingStyle:
 * @GRUN_POSTING_STYLE_WHEN_IDLE: when the loop has nothing else to do at all, one notification in each pass
 * @GRUN_POSTING_STYLE_ASAP: when the loop is about to sleep, or when its run ends
 * @GRUN_POSTING_STYLE_NOW: immediately, before the call returns; on the loop's own thread only
 *
 * When a notification queue posts a notification. Foundation: `NSPostingStyle`, with the same values.
 */
typedef enum
{
  GRUN_POSTING_STYLE_WHEN_IDLE = 1,
  GRUN_POSTING_STYLE_ASAP = 2,
  GRUN_POSTING_STYLE_NOW = 3
} GRunPostingStyle;

/**
 * GRunCoalescing:
 * @GRUN_COALESCING_NONE: no notifications
 * @GRUN_COALESCING_ON_NAME: notifications with the same name
 * @GRUN_COALESCING_ON_SENDER: notifications with the same sender. No sender counts as a sender, too.
 *
 * The rule by which waiting notifications count as the same, so that only one of them is posted. Foundation:
 * `NSNotificationCoalescing`, with the same values.
 */
typedef enum /*< flags >*/
{
  GRUN_COALESCING_NONE = 0,
  GRUN_COALESCING_ON_NAME = 1 << 0,
  GRUN_COALESCING_ON_SENDER = 1 << 1
} GRunCoalescing;

GRUN_AVAILABLE_IN_1_0
GType grun_posting_style_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_POSTING_STYLE (grun_posting_style_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_coalescing_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_COALESCING (grun_coalescing_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_notification_queue_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_NOTIFICATION_QUEUE (grun_notification_queue_get_type ())

/**
 * GRunNotificationFunc:
 * @name: the name of the notification
 * @sender: (nullable): the address of the sender, which the queue does not dereference
 * @data: (nullable): further data about the event
 * @user_data: (closure): the data that was given to grun_notification_queue_add_func()
 *
 * Called on the loop's thread with each notification that is posted.
 */
typedef void (*GRunNotificationFunc) (const char *name,
                                      gpointer sender,
                                      GBytes *data,
                                      gpointer user_data);

/**
 * grun_notification_queue_new:
 * @loop: the loop on whose thread the queue posts
 *
 * Makes a queue, which posts notifications when the loop has time for them. If several notifications are the same, it
 * posts only the last. Each queue has its own functions: there is no shared notification centre.
 *
 * Notifications with %GRUN_POSTING_STYLE_ASAP are posted in the order in which they were enqueued, at
 * %GRUN_ACTIVITY_BEFORE_WAITING or %GRUN_ACTIVITY_EXIT. Observers of any order come before them. Another pass follows,
 * in which the loop handles what the notifications have changed. Notifications that are enqueued meanwhile wait for
 * that pass. When the loop's time slice is used up, the remaining notifications also wait
 * for that pass, except at %GRUN_ACTIVITY_EXIT.
 *
 * Notifications with %GRUN_POSTING_STYLE_WHEN_IDLE are posted like the functions of a #GRunIdleQueue: one in each pass,
 * after everything else. So a function that enqueues its notification again keeps the loop awake, but does not starve
 * other work. If a function of the queue runs the loop, the nested run posts the waiting notifications.
 *
 * A mode is not finished while notifications wait for it. A queue without waiting notifications has nothing in the
 * loop. When the loop's thread ends, the waiting notifications are dropped.
 *
 * Threads: any. Foundation: `-[NSNotificationQueue initWithNotificationCenter:]`.
 *
 * Returns: (transfer full): the queue
 */
GRUN_AVAILABLE_IN_1_0
GRunNotificationQueue *grun_notification_queue_new (GRunLoop *loop);

/**
 * grun_notification_queue_ref:
 * @queue: a notification queue
 *
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same queue
 */
GRUN_AVAILABLE_IN_1_0
GRunNotificationQueue *grun_notification_queue_ref (GRunNotificationQueue *queue);

/**
 * grun_notification_queue_unref:
 * @queue: (transfer full): a notification queue
 *
 * Releases a reference. Do not use the pointer after your last release. When no reference is left, waiting
 * notifications are still posted, and then the queue's functions are released.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_notification_queue_unref (GRunNotificationQueue *queue);

/**
 * grun_notification_queue_enqueue:
 * @queue: a notification queue
 * @name: the name of the notification: UTF-8, which may be empty
 * @sender: (nullable): the address of the object that the notification concerns; %NULL means no sender
 * @data: (nullable): further data about the event, to which the queue takes a reference; it is not compared
 * @style: when to post the notification
 * @coalescing: which notifications count as the same
 * @modes: (nullable) (array zero-terminated=1): the modes in which the notification is posted, followed by %NULL;
 *   %GRUN_MODE_COMMON stands for every common mode
 *
 * Enqueues a notification, or posts it now. Before that, waiting notifications that are the same as the new one are
 * removed, whatever their style and modes. The new notification waits behind all others. A sleeping loop wakes.
 *
 * The queue compares the address @sender and passes it to its functions, but does not retain the object: keep it valid.
 * Two notifications without a sender have the same sender. If @modes is %NULL, the notification is posted in the
 * default mode. If the list is empty, the notification waits until it is removed, unless it is posted now.
 *
 * A notification with %GRUN_POSTING_STYLE_NOW is not posted if a run is under way in another mode. If the calling
 * thread is not the loop's own, %GRUN_POSTING_STYLE_NOW is a g_critical(), and nothing is done.
 *
 * Threads: any. Foundation: `-[NSNotificationQueue enqueueNotification:postingStyle:coalesceMask:forModes:]`.
 *
 * Returns: %TRUE if the notification was posted, or waits. %FALSE if it was dropped, because the loop runs in another
 *   mode, the thread is another one, or the loop's thread has ended.
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_notification_queue_enqueue (GRunNotificationQueue *queue,
                                          const char *name,
                                          gpointer sender,
                                          GBytes *data,
                                          GRunPostingStyle style,
                                          GRunCoalescing coalescing,
                                          const char *const *modes);

/**
 * grun_notification_queue_dequeue:
 * @queue: a notification queue
 * @name: the name of the notification to compare with: UTF-8, which may be empty
 * @sender: (nullable): the sender to compare with
 * @coalescing: which notifications count as the same
 *
 * Removes the waiting notifications that are the same as the given one. A notification that is being posted is not
 * affected.
 *
 * Threads: any. Foundation: `-[NSNotificationQueue dequeueNotificationsMatching:coalesceMask:]`.
 *
 * Returns: the number of notifications that were removed
 */
GRUN_AVAILABLE_IN_1_0
guint grun_notification_queue_dequeue (GRunNotificationQueue *queue,
                                       const char *name,
                                       gpointer sender,
                                       GRunCoalescing coalescing);

/**
 * grun_notification_queue_get_length:
 * @queue: a notification queue
 *
 * Returns how many notifications wait in the queue, for all styles and modes together. A notification that is being
 * posted does not count.
 *
 * Threads: any.
 *
 * Returns: the number of notifications that wait to be posted
 */
GRUN_AVAILABLE_IN_1_0
guint grun_notification_queue_get_length (GRunNotificationQueue *queue);

/**
 * grun_notification_queue_add_func:
 * @queue: a notification queue
 * @name: (nullable): the name of the notifications to call @func with; %NULL means every name
 * @sender: (nullable): the sender of these notifications; %NULL means every sender, and notifications without a sender
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data when @func is removed, or the queue is freed
 *
 * Adds a function that is called with each posted notification of the given name and sender. Functions are called in
 * the order in which they were added. A function that is added while a notification is being posted is called from the
 * next notification on.
 *
 * Threads: any. Foundation: `-[NSNotificationCenter addObserverForName:object:queue:usingBlock:]`.
 *
 * Returns: a number for grun_notification_queue_remove_func(); 0 in a forked child, after @notify was called
 */
GRUN_AVAILABLE_IN_1_0
guint64 grun_notification_queue_add_func (GRunNotificationQueue *queue,
                                          const char *name,
                                          gpointer sender,
                                          GRunNotificationFunc func,
                                          gpointer user_data,
                                          GDestroyNotify notify);

/**
 * grun_notification_queue_remove_func:
 * @queue: a notification queue
 * @id: the number that grun_notification_queue_add_func() has returned
 *
 * Removes a function, and calls its `notify`. The function is not called any more, not even for a notification that is
 * being posted. But if another thread than the loop's removes it, one last call may be under way. Its `notify` is
 * called after that call.
 *
 * Threads: any. Foundation: `-[NSNotificationCenter removeObserver:]`.
 *
 * Returns: %FALSE if the function was removed before, otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_notification_queue_remove_func (GRunNotificationQueue *queue,
                                              guint64 id);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunNotificationQueue, grun_notification_queue_unref)

G_END_DECLS

GRUN_DEFINE_FLAG_OPERATORS (GRunCoalescing)

#endif
