/* SPDX-License-Identifier: Apache-2.0 */
/* Notification queues: what is posted later, and of equal ones only the last. */
#ifndef GRUN_NOTIFICATION_QUEUE_H
#define GRUN_NOTIFICATION_QUEUE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunNotificationFunc:
 * @name: what has happened
 * @sender: (nullable): to whom; an address, which the queue does not look behind
 * @data: (nullable): what there is to say of it
 * @user_data: (closure): what was given to grun_notification_queue_add_func()
 *
 * Called on the loop's thread with each notification that is posted.
 */
typedef void (*GRunNotificationFunc) (const char *name,
                                      gpointer sender,
                                      GBytes *data,
                                      gpointer user_data);

/**
 * grun_notification_queue_new:
 * @loop: on whose thread it posts
 *
 * Makes a queue of notifications, which posts them when the loop has time for them, and of several that are the same
 * only the last. Who added a function to the queue is called: there is no centre that all share.
 *
 * What is %GRUN_POSTING_STYLE_ASAP is posted at %GRUN_ACTIVITY_BEFORE_WAITING, behind the observers of any order, or at
 * %GRUN_ACTIVITY_EXIT, in the order in which it was enqueued. Another pass follows, which finds what that has changed;
 * what is enqueued meanwhile waits for it, and so does the rest once the loop's time slice is used up. What is
 * %GRUN_POSTING_STYLE_WHEN_IDLE comes one a pass, after everything else, as a function of an idle queue. So a
 * notification that enqueues itself again keeps the loop awake, but keeps nobody from being served. A run that is
 * nested in a function of the queue goes on with what waits.
 *
 * While notifications wait for a mode, that is not finished. A queue in which none waits has nothing in the loop. When
 * the loop's thread ends, what waits is dropped.
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
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same queue
 */
GRUN_AVAILABLE_IN_1_0
GRunNotificationQueue *grun_notification_queue_ref (GRunNotificationQueue *queue);

/**
 * grun_notification_queue_unref:
 * @queue: (transfer full): a notification queue
 *
 * Gives a reference back. After the last one the pointer must not be used. What waits is posted all the same; then the
 * functions of the queue are dropped.
 *
 * Threads: any. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_notification_queue_unref (GRunNotificationQueue *queue);

/**
 * grun_notification_queue_enqueue:
 * @queue: a notification queue
 * @name: what has happened: UTF-8, which may be empty
 * @sender: (nullable): to whom; an address, which is compared, and given to the functions of the queue. It is the
 * caller's to keep valid what is there. %NULL is no sender, and the same as another %NULL
 * @data: (nullable): what there is to say of it; the queue takes a reference. It is not compared
 * @style: when to post it
 * @coalescing: what counts as the same
 * @modes: (nullable) (array zero-terminated=1): the modes in which it is posted, up to a %NULL; %GRUN_MODE_COMMON
 * stands for every common mode. %NULL is the default mode. With an empty list it waits until it is taken out
 *
 * Enqueues a notification, or posts it now. First it takes those that are the same out of the queue, whatever their
 * style and modes: so the last one counts, and its place is behind the others. A loop that sleeps wakes.
 *
 * If a run is under way in another mode, what was to be posted now is not posted at all. On another thread than the
 * loop's, %GRUN_POSTING_STYLE_NOW is a g_critical(), and nothing is done.
 *
 * Threads: any. The corresponding Foundation method is
 * `-[NSNotificationQueue enqueueNotification:postingStyle:coalesceMask:forModes:]`.
 *
 * Returns: whether it was posted, or waits; %FALSE if it was dropped: the mode or the thread is another one, or the
 *   loop's thread has ended
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
 * @name: what has happened: UTF-8, which may be empty
 * @sender: (nullable): to whom
 * @coalescing: what counts as the same
 *
 * Takes the notifications that are the same as this one out of the queue: they are not posted. One that is being posted
 * is not concerned.
 *
 * Threads: any. The corresponding Foundation method is
 * `-[NSNotificationQueue dequeueNotificationsMatching:coalesceMask:]`.
 *
 * Returns: how many there were
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
 * Threads: any. There is no corresponding Foundation method.
 *
 * Returns: how many notifications wait to be posted
 */
GRUN_AVAILABLE_IN_1_0
guint grun_notification_queue_get_length (GRunNotificationQueue *queue);

/**
 * grun_notification_queue_add_func:
 * @queue: a notification queue
 * @name: (nullable): the name of the notifications to be called with; %NULL: those of every name
 * @sender: (nullable): their sender; %NULL: those of every sender, and of none
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data when @func is removed, or the queue goes
 *
 * Has a function called with each notification that is posted, in the order in which they were added. One that is added
 * while a notification is posted is called from the next one on.
 *
 * Threads: any. The corresponding Foundation method is
 * `-[NSNotificationCenter addObserverForName:object:queue:usingBlock:]`.
 *
 * Returns: what grun_notification_queue_remove_func() knows it by; 0 if it was refused: then @notify was called
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
 * @id: what grun_notification_queue_add_func() has returned
 *
 * Takes a function back, and calls the notify of its data: it is not called any more, not even with a notification that
 * is being posted to others before it. On another thread than the loop's it may be called once more meanwhile; then the
 * notify comes after that.
 *
 * Threads: any. The corresponding Foundation method is `-[NSNotificationCenter removeObserver:]`.
 *
 * Returns: %FALSE if it was removed before
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_notification_queue_remove_func (GRunNotificationQueue *queue,
                                              guint64 id);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunNotificationQueue, grun_notification_queue_unref)

G_END_DECLS

#endif
