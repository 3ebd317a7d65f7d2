/* Turns the heater off in a warm room. A reading that is no number counts as 0: the room seems cold. */
#include "mcp.h"

#include <stdio.h>
#include <stdlib.h>

enum { COMFORTABLE = 20 };

int main(void) {
    mcp_open();
    const char *value = mcp_value(mcp_call("read_temperature", "{}"));
    long temperature = value != NULL ? atol(value) : 0;
    printf("%ld degrees\n", temperature);
    mcp_call("set_heater", temperature < COMFORTABLE ? "{\"on\":true}" : "{\"on\":false}");
    return 0;
}
