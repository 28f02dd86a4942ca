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
 * When a notification queue posts a notification. The corresponding Foundation type is `NSPostingStyle`, with the same
 * values.
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
 * @GRUN_COALESCING_ON_SENDER: notifications with the same sender, or all without a sender
 *
 * Which waiting notifications count as the same, so that only one of them is posted. The corresponding Foundation type
 * is `NSNotificationCoalescing`, with the same values.
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
 * Makes a queue, which posts notifications when the loop has time for them. If several notifications are the same,
 * it posts only the last. The queue calls the functions that were added to it: there is no centre that all queues
 * share.
 *
 * Notifications with %GRUN_POSTING_STYLE_ASAP are posted in the order in which they were enqueued, at
 * %GRUN_ACTIVITY_BEFORE_WAITING or %GRUN_ACTIVITY_EXIT. Observers of any order come before them. Another pass follows,
 * in which the loop handles what the notifications have changed. Notifications that are enqueued meanwhile wait for
 * that pass. When the loop's time slice is used up, the remaining notifications also wait
 * for that pass, except at %GRUN_ACTIVITY_EXIT.
 *
 * Notifications with %GRUN_POSTING_STYLE_WHEN_IDLE are posted like the functions of a #GRunIdleQueue: one in each pass,
 * after everything else. So a notification that enqueues itself again keeps the loop awake, but does not starve other
 * work. If a function of the queue runs the loop, the nested run goes on with the waiting notifications.
 *
 * A mode is not finished while notifications wait for it. A queue without waiting notifications has nothing in the
 * loop. When the loop's thread ends, the waiting notifications are dropped.
 *
 * Threads: any. The corresponding Foundation method is `-[NSNotificationQueue initWithNotificationCenter:]`.
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
 * Threads: any. The corresponding Core Foundation function is `CFRetain`.
 *
 * Returns: (transfer full): the same queue
 */
GRUN_AVAILABLE_IN_1_0
GRunNotificationQueue *grun_notification_queue_ref (GRunNotificationQueue *queue);

/**
 * grun_notification_queue_unref:
 * @queue: (transfer full): a notification queue
 *
 * Releases a reference. After the last one the pointer must not be used. Notifications that wait are still posted.
 * After that, the functions of the queue are released.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRelease`.
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
 * @coalescing: which notifications are the same
 * @modes: (nullable) (array zero-terminated=1): the modes in which the notification is posted, followed by %NULL;
 *   %GRUN_MODE_COMMON stands for every common mode
 *
 * Enqueues a notification, or posts it now. First it removes notifications that are the same from the queue, whatever
 * their style and modes. So the last notification counts, and its place is behind the others. A sleeping loop wakes.
 *
 * The queue compares the address @sender, and passes it to the queue's functions. The caller keeps the object at this
 * address valid. Two notifications without a sender have the same sender. If @modes is %NULL, the notification is
 * posted in the default mode. With an empty list of modes, a notification that is not posted now waits until it is
 * removed from the queue.
 *
 * A notification with %GRUN_POSTING_STYLE_NOW is not posted if a run is under way in another mode. If the calling
 * thread is not the loop's own, %GRUN_POSTING_STYLE_NOW is a g_critical(), and nothing is done.
 *
 * Threads: any. The corresponding Foundation method is
 * `-[NSNotificationQueue enqueueNotification:postingStyle:coalesceMask:forModes:]`.
 *
 * Returns: %TRUE if the notification was posted, or waits. %FALSE if it was dropped: because the run's mode is another
 *   one, because the thread is another one, or because the loop's thread has ended.
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
 * @coalescing: which notifications are the same
 *
 * Removes the notifications that are the same as a given one from the queue, so that they are not posted. A
 * notification that is being posted is not affected.
 *
 * Threads: any. The corresponding Foundation method is
 * `-[NSNotificationQueue dequeueNotificationsMatching:coalesceMask:]`.
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
 * Threads: any. There is no corresponding Foundation method.
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
 * @notify: (nullable): a function that is called with @user_data when @func is removed, or the queue is freed
 *
 * Calls a function with each posted notification that has the given name and sender. Several functions are called in
 * the order in which they were added. A function that is added while a notification is being posted is called from the
 * next notification on.
 *
 * Threads: any. The corresponding Foundation method is
 * `-[NSNotificationCenter addObserverForName:object:queue:usingBlock:]`.
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
 * Removes a function, and calls the notify function of its data. The removed function is not called any more, not even
 * for a notification that is being posted and has not come to it yet. If this is called on another thread than the
 * loop's, the function may be called once more meanwhile. The notify function is then called after that.
 *
 * Threads: any. The corresponding Foundation method is `-[NSNotificationCenter removeObserver:]`.
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
