/* Turns the heater off in a warm room. A reading that is no number is taken again. */
#include "mcp.h"

#include <stdio.h>
#include <stdlib.h>

enum { ATTEMPTS = 3, COMFORTABLE = 20 };

/* 0 and the temperature, or -1. */
static int read_temperature(long *temperature) {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        const char *value = mcp_value(mcp_call("read_temperature", "{}"));
        char *end = NULL;
        if (value != NULL) *temperature = strtol(value, &end, 10);
        if (value != NULL && end != value) return 0;
        fprintf(stderr, "no reading, attempt %d\n", attempt + 1);
    }
    return -1;
}

int main(void) {
    long temperature;
    mcp_open();
    if (read_temperature(&temperature) != 0) return 1;
    printf("%ld degrees\n", temperature);
    mcp_call("set_heater", temperature < COMFORTABLE ? "{\"on\":true}" : "{\"on\":false}");
    return 0;
}
