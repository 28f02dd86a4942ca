// SPDX-License-Identifier: Apache-2.0
// The macros with which the C files check whether a site deviates. See cgrun-perturb.h.
#ifndef PERTURBED_H
#define PERTURBED_H

#include "cgrun-perturb.h"

#ifdef GRUN_PERTURB
#define PERTURBS(site) __builtin_expect(cgrun_perturbs(site), false)
#define PERTURBED(below) (int64_t)cgrun_perturbed(below)
#else
#define PERTURBS(site) false
#define PERTURBED(below) 0
#endif

#endif
