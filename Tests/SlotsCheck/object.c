// SPDX-License-Identifier: Apache-2.0
// Calls a function of another object, takes the function's address, and stores the address in its data.

extern void CFRunLoopWakeUp(void *loop);
extern void CFRunLoopStop(void *loop);

void (*in_data)(void *) = CFRunLoopWakeUp;
void (*address(int stops))(void *) { return stops ? CFRunLoopStop : CFRunLoopWakeUp; }
void wake_up(void *loop) { CFRunLoopWakeUp(loop); }
void stop(void *loop) { CFRunLoopStop(loop); }
