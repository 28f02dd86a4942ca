// SPDX-License-Identifier: Apache-2.0
// See rules.c.
#ifndef RULES_H
#define RULES_H

#include "fuzz.h"

bool rule_run(Call *call);
bool rule_run_until_date(Call *call);
bool rule_run_until_finished(Call *call);
bool rule_virtual_time(Call *call);
bool rule_wait_for_loop(Call *call);
bool rule_new_thread(Call *call);
bool rule_join(Call *call);
bool rule_send_before(Call *call);
bool rule_carry_port(Call *call);
bool rule_request(Call *call);

void check_performed_once(Call *call);
void check_sent(Call *call);
void check_bytes(Call *call);
void check_fds(Call *call);

#endif
