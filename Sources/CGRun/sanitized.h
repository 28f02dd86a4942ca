// SPDX-License-Identifier: Apache-2.0
// IS_SANITIZED is true in a build for the Thread Sanitizer. GCC defines a macro in such a build, and Clang has
// __has_feature().
#ifndef SANITIZED_H
#define SANITIZED_H

#if defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#define IS_SANITIZED __has_feature(thread_sanitizer)
#else
#define IS_SANITIZED 0
#endif

#endif
