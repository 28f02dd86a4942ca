// SPDX-License-Identifier: Apache-2.0
// A hook of another library, for a main thread that an async main gives away.
#ifndef HOOK_H
#define HOOK_H

/// Sets a hook that calls `called`, and then the hook that was set before.
void async_hook_install(void (*called)(void));
/// Sets a hook that calls `called`, and nothing else.
void async_hook_install_alone(void (*called)(void));

#endif
