// SPDX-License-Identifier: Apache-2.0
// Stands in for another library that sets the hook through which an async main gives its main thread away.
#ifndef HOOK_H
#define HOOK_H

/// Sets a hook that calls `called`, and then the hook that was set before.
void async_hook_install(void (*called)(void));
/// Sets a hook that calls `called`, and nothing else.
void async_hook_install_alone(void (*called)(void));

#endif
