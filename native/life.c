/* Whether our owner lives. An engine that is killed leaves its shims behind, which hold our stdin open for ever: so an
 * owner with an engine between says a blank line now and then, and one that has been silent for too long is gone.
 * The clock stands still while the machine sleeps. */
#include "arci_init.h"

static const long long SILENCE_MOST_MS = 1LL << 30;
static long long limit_ms, heard_ms; /* no limit: 0 */

void life_arguments(char ***argv) {
    if ((*argv)[1] == NULL || parse_number((*argv)[1], SILENCE_MOST_MS, &limit_ms) != 0 || limit_ms == 0) {
        fail(EXIT_BAD_CALL, "--silence-ms takes a number of milliseconds");
    }
    (*argv)++;
    life_heard();
}

void life_heard(void) {
    heard_ms = now_ms();
}

int life_patience(int patience_ms) {
    if (limit_ms == 0) return patience_ms;
    long long left = heard_ms + limit_ms - now_ms();
    if (left < 0) left = 0;
    return patience_ms >= 0 && patience_ms < left ? patience_ms : (int)left;
}

int life_is_over(void) {
    return limit_ms != 0 && now_ms() >= heard_ms + limit_ms;
}
