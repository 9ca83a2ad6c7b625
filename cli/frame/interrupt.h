/* interrupt.h - Ctrl-C asks once, and kills the second time. */
#ifndef WM_CLI_INTERRUPT_H
#define WM_CLI_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/* From now on the first SIGINT or SIGTERM sets the flag and says so on stderr unless quiet; the
 * second ends the process as it would have without us. */
void interrupt_install(bool quiet);
/* For the library's stop flags; lives as long as the process. */
const volatile sig_atomic_t *interrupt_flag(void);

#endif
